"""Conversion of IR to the plain model, through text, and the errors of what is undecided."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.ir.locations import named_location
from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.core.ir.spec import Spec, tensor_type
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.netlist import model
from ttc.dialects.netlist import ops as netlist_ops
from ttc.dialects.netlist.json_text import dumps, loads
from ttc.dialects.netlist.ops import (
    ExecuteOp,
    GraphOp,
    NetlistOp,
    ProgramOp,
    QueueOp,
    ReadOp,
    WriteOp,
    YieldOp,
    graphs_of,
    programs_of,
    queues_of,
    set_chip,
)
from ttc.dialects.netlist.to_model import to_model, verify_netlist
from ttc.dialects.nn.activation import ReluOp
from ttc.dialects.nn.base import dialect as nn_dialect
from ttc.dialects.tile.base import Tile, tile_type
from ttc.dialects.tile.base import dialect as tile_dialect
from ttc.dialects.tile.eltwise import MapOp

TILE = tile_type(Tile((64, 128), "Float32", (32, 32)))
TENSOR = tensor_type(Spec((64, 128), np.dtype(np.float32)))
BLOCKS = model.Blocking(1, (1, 1), (1, 2))
BYTES = 32 + 2 * 4128
CHIP = model.Chip("small", "wormhole_b0", 1, (4, 4), (32, 32), 1 << 20, 8, 2, 1 << 30, 1 << 20, 32, 4, ("Float32",))


def queue(name: str, kind: str, slot: int) -> QueueOp:
    buffers = tuple((i % 2, (1 << 20) + (2 * slot + i // 2) * BYTES) for i in range(4))
    return QueueOp.build(
        name, kind, TILE, entries=1, space="dram", chip=0, grid=(2, 2), blocking=BLOCKS, buffers=buffers, buffer_bytes=BYTES
    )  # fmt: skip


def relu(name: str, kind: Any, value: Any) -> NetlistOp:
    block = Block(arg_types=[kind])
    location = named_location(f"node {name}")
    work: Any = MapOp.build(block.args[0], location=location, fn="relu") if kind is TILE else ReluOp.build(block.args[0], location=location)
    block.add_ops([work, YieldOp.build(work.results[0])])
    return NetlistOp.build(name, [value], block, location, type="map")


@pytest.fixture
def module() -> ModuleOp:
    """A device epoch, an edge queue, a host epoch that sees the edge in row layout."""
    x, edge, y = queue("x", "input", 0), queue("edge", "edge", 1), queue("y", "output", 2)
    device, host = GraphOp.build("device"), GraphOp.build("host")
    op = device.add(relu("a", TILE, device.add(ReadOp.build(x)).value))
    op.place, op.blocking, op.cycles = model.Grid(0, 0, 2, 2), BLOCKS, 7
    op.buffers = (model.Buffer("in0", 2, 4128, 2), model.Buffer("out", 2, 4128, 2))
    device.add(WriteOp.build(op.result, edge))
    last = host.add(relu("b", TENSOR, host.add(ReadOp.build(edge, TENSOR)).value))
    last.place = model.Host()
    host.add(WriteOp.build(last.result, y))
    argument = model.Argument("x", "input", "x", (64, 128), "float32")
    program = ProgramOp.build("forward", [argument], [model.Argument("y", "output", "y", (64, 128), "float32")])
    program.add(ExecuteOp.build(device))
    program.add(ExecuteOp.build(host))
    module = ModuleOp([x, edge, y, device, host, program])
    set_chip(module, CHIP)
    return module


def test_model(module: ModuleOp) -> None:
    netlist = verify_netlist(module)
    assert {q.name: q.source for q in netlist.queues.values()} == {"x": "HOST", "edge": "a", "y": "b"}
    assert netlist.queues["x"].tensor == TensorType((64, 128), "Float32", "tiles(32, 32)")
    a, b = netlist.graphs["device"].ops[0], netlist.graphs["host"].ops[0]
    assert (a.inputs, a.place, a.blocking, a.cycles, a.location) == (("x",), model.Grid(0, 0, 2, 2), BLOCKS, 7, ("node a",))
    assert (b.inputs, b.place, b.blocking, b.buffers, b.fidelity) == (("edge",), model.Host(), None, (), "HiFi4")
    assert [w.op for w in (*a.work.works, *b.work.works)] == ["tile.map", "nn.relu"]
    assert netlist.graphs["host"].writes == (("b", "y"),)
    assert [i.args for i in netlist.programs["forward"].instructions] == [("device",), ("host",)]
    assert netlist.chip == CHIP


def test_text_and_json_keep_everything(module: ModuleOp) -> None:
    text = print_op(module)
    again = parse_module(text, "test", [nn_dialect, tile_dialect, netlist_ops.dialect])
    verify(again)
    assert print_op(again) == text
    assert to_model(again) == to_model(module)
    assert loads(dumps(to_model(module))) == to_model(module)


def edit_queue(name: str, field: str, value: object) -> Callable[[ModuleOp], None]:
    return lambda m: queues_of(m)[name].set(field, value)


def edit_op(field: str, value: object) -> Callable[[ModuleOp], None]:
    return lambda m: graphs_of(m)["device"].ops[0].set(field, value)


def pass_on(m: ModuleOp) -> None:
    graph = graphs_of(m)["host"]
    graph.add(WriteOp.build(graph.reads[0].value, "y"))


UNDECIDED: dict[str, tuple[str, str | None, Callable[[ModuleOp], None]]] = {
    "no place": ("E0609", "op 'a'", edit_op("place", None)),
    "no buffers": ("E0609", "op 'a'", edit_op("buffers", None)),
    "inner blocks of three": ("E0609", "op 'a'", edit_op("inner", (1, 2, 3))),
    "no entries": ("E0609", "queue 'x'", edit_queue("x", "entries", None)),
    "no memory": ("E0609", "queue 'x'", edit_queue("x", "location", None)),
    "no addresses": ("E0609", "queue 'edge'", edit_queue("edge", "buffers", None)),
    "no size": ("E0609", "queue 'edge'", edit_queue("edge", "buffer_bytes", None)),
    "a grid of three": ("E0609", "queue 'x'.grid", edit_queue("x", "grid", (1, 2, 2))),
    "an unknown kind": ("E0609", "queue 'x'.kind", edit_queue("x", "kind", "inputs")),
    "no chip": ("E0609", None, lambda m: m.attributes.pop("ttc.chip") and None),
    "an unknown queue": ("E0601", "graph 'host'", lambda m: graphs_of(m)["host"].reads[0].set("queue", "q")),
    "a name twice": ("E0601", None, lambda m: queues_of(m)["x"].set("sym", "y")),
    "a queue of another type": ("E0602", "graph 'device'", edit_queue("x", "tensor", tile_type(Tile((64, 96), "Float32", (32, 32))))),
    "a queue passed on": ("E0606", None, pass_on),
}


@pytest.mark.parametrize("case", UNDECIDED)
def test_what_is_undecided_has_no_model(module: ModuleOp, case: str) -> None:
    code, where, edit = UNDECIDED[case]
    edit(module)
    with pytest.raises(Error) as error:
        to_model(module)
    assert (error.value.code, error.value.where) == (code, where)


def test_broken_rules_are_one_error(module: ModuleOp) -> None:
    graphs_of(module)["device"].ops[0].place = model.Grid(3, 3, 2, 2)
    queues_of(module)["edge"].buffers = ((0, 0), (1, 0), (0, 1 << 21), (1, 1 << 21))
    with pytest.raises(Error) as error:
        verify_netlist(module)
    assert (error.value.code, error.value.where) == ("E0605", "queue 'edge'")
    assert error.value.excerpt is not None
    assert "E0603 op 'a'" in error.value.excerpt


def test_values_do_not_cross_graphs(module: ModuleOp) -> None:
    graphs = graphs_of(module)
    graphs["host"].ops[0].operands = [graphs["device"].ops[0].result]
    with pytest.raises(Error) as error:
        verify_netlist(module)
    assert error.value.code == "E0303"


def test_programs_hold_instructions_alone(module: ModuleOp) -> None:
    programs_of(module)["forward"].add(ReadOp.build("x", TILE))
    with pytest.raises(Error) as error:
        to_model(module)
    assert error.value.code == "E0608"
