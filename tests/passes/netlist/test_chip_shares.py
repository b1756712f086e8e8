"""Graphs whose ops several chips share: one chip's places and epochs hold for all, results pass straight within an epoch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import ttc
from tests.passes.module_pairs import parse_unit
from tests.passes.nn_to_tile.encoders import Encoder
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.netlist.ops import GraphOp, ReadOp, ReceiveOp, graphs_of, queues_of
from ttc.passes.base import Unit
from ttc.passes.netlist.chip_shares import ChipShares, is_shared

TILE = '!tile.tensor<"32x64xFloat32", "tiles(32, 32)">'


def op(name: str, source: str, location: str) -> str:
    return f"""%{name} = netlist.op(%{source}) {{sym = "{name}", type = "map"}} : ({TILE}) -> {TILE} {{
      ^bb0(%i{name}: {TILE}):
        %o{name} = tile.map(%i{name}) {{fn = "exp"}} : ({TILE}) -> {TILE}
        netlist.yield(%o{name}) : ({TILE}) -> ()
      }} loc({location})"""


def shared(*ops: str) -> Unit:
    """A graph of ops that reads queue x, and writes the result of the last of them, `d`, to y."""
    queue = f'tensor = {TILE}, type = "queue"}} : () -> ()'
    lines = "\n".join(ops)
    return parse_unit(
        f"""netlist.queue() {{kind = "input", sym = "x", {queue}
        netlist.queue() {{kind = "output", sym = "y", {queue}
        netlist.graph() {{chip = 0, input_count = 1, sym = "g"}} : () -> () {{
          %x = netlist.read() {{queue = "x"}} : () -> {TILE}
          {lines}
          netlist.write(%d) {{queue = "y"}} : ({TILE}) -> ()
        }}
        netlist.program() {{sym = "p"}} : () -> () {{
          netlist.execute() {{graph = "g"}} : () -> ()
        }}"""
    )


def crossing() -> Unit:
    """Two steps on each of two chips, of which the second reads the first of the other chip."""
    return shared(
        op("a", "x", 'fused["first", "on chip 0"]'),
        op("b", "x", 'fused["first", "on chip 1"]'),
        op("c", "a", 'fused["second", "on chip 1"]'),
        op("d", "b", 'fused["second", "on chip 0"]'),
    )


def graph_of(unit: Unit) -> GraphOp:
    return graphs_of(unit.module)["g"]


def test_the_pattern_is_one_chip_alone() -> None:
    unit = crossing()
    assert is_shared(graph_of(unit), 2)
    assert not is_shared(graph_of(unit), 1)  # names that a model gives its ops
    shares = ChipShares(unit, graph_of(unit))
    first, second = shares.pattern.ops
    assert (first.sym, second.sym, second.operands[0]) == ("a", "d", first.result)
    assert [[None if op is None else op.sym for op in ops] for ops in shares.lists] == [["a", "d"], ["b", "c"]]
    assert shares.steps == {("a", "d"): 1}


@pytest.mark.parametrize(("sizes", "epochs"), [((2,), [(0, 0), (1, 0)]), ((1, 1), [(0, 0), (1, 0), (0, 1), (1, 1)])])
def test_each_epoch_becomes_a_graph_on_each_chip(sizes: tuple[int, ...], epochs: list[tuple[int, int]]) -> None:
    unit = crossing()
    ChipShares(unit, graph_of(unit)).cut(sizes)
    verify(unit.module)
    graphs = list(graphs_of(unit.module).values())
    assert [(graph.chip, graph.epoch) for graph in graphs] == epochs
    received = [op.op for graph in graphs for op in graph.block.ops if isinstance(op, ReceiveOp)]
    read = [op.queue for graph in graphs for op in graph.block.ops if isinstance(op, ReadOp)]
    edges = [name for name, queue in queues_of(unit.module).items() if queue.kind == "edge"]
    assert received == (["b", "a"] if len(sizes) == 1 else [])
    assert sorted(set(read)) == sorted(["x", *edges])
    assert len(edges) == (0 if len(sizes) == 1 else 2)


def test_chips_that_compute_differently_are_an_error() -> None:
    ops = [op("a", "x", 'fused["first", "on chip 0"]'), op("d", "x", 'fused["other", "on chip 1"]')]
    unit = shared(*ops)
    with pytest.raises(Error, match="chip 1 computes what no other chip does") as raised:
        ChipShares(unit, graph_of(unit))
    assert raised.value.code == "E0503"


def test_all_chips_have_the_same_places(tmp_path: Path, rng: np.random.Generator) -> None:
    onnx.save(Encoder(rng).model(), tmp_path / "encoder.onnx")
    netlist = ttc.compile(tmp_path / "encoder.onnx", target="n150", cluster="1x2", parallel="tensor").netlist
    first, second = ([g for g in netlist.graphs.values() if g.chip == chip] for chip in (0, 1))
    assert [graph.epoch for graph in first] == [graph.epoch for graph in second]
    for mine, other in zip(first, second, strict=True):
        assert [(op.place, op.blocking, op.buffers) for op in mine.ops][: len(other.ops)] == [
            (op.place, op.blocking, op.buffers) for op in other.ops
        ]
