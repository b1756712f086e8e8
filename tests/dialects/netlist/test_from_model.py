"""From the plain model to IR and back: every netlist comes back as it was, through text too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.core.plain.functions import Function, Plain, TensorType, Work
from ttc.dialects.netlist import ops as netlist_ops
from ttc.dialects.netlist.checks import check
from ttc.dialects.netlist.from_model import from_model
from ttc.dialects.netlist.json_text import dumps, loads
from ttc.dialects.netlist.model import Ethernet, Graph, Grid, Host, Instruction, Netlist, Op, QueueSetting
from ttc.dialects.netlist.to_model import to_model
from ttc.dialects.nn.base import dialect as nn_dialect
from ttc.dialects.tile.base import dialect as tile_dialect

TILED = TensorType((1, 64, 128), "Float32", "tiles(32, 32)")
ROWS = TensorType((1, 64, 128), "Float32")


def unary(fn: str, type_: TensorType = TILED) -> Function:
    return Function((type_,), (Work("tile.map", (0,), {"fn": fn}, (type_,)),), (1,))


def fused() -> Function:
    """relu(a + 0.5 * b) in one region."""
    half = TensorType((), "Float32")
    body = Function(
        (TILED, TILED),
        (
            Work("ttc.constant", (), {"values": (0.5,)}, (half,)),
            Work("tile.map", (1, 2), {"fn": "mul"}, (TILED,), location=("half",)),
            Work("tile.map", (0, 3), {"fn": "add"}, (TILED,)),
        ),
        (4,),
    )
    return Function((TILED, TILED), (Work("tile.eltwise", (0, 1), {}, (TILED,), body, ("add", "add", "relu")),), (2,))


def host_work() -> Function:
    """A cast to float64 and back: on tensors, not tiles."""
    wide = TensorType((1, 64, 128), "Float64")
    works = (Work("nn.cast", (0,), {"dtype": "float64"}, (wide,)), Work("nn.cast", (1,), {"dtype": "float32"}, (ROWS,)))
    return Function((ROWS,), works, (2,))


@pytest.fixture
def real(netlist: Netlist) -> Netlist:
    """The fixture with ops that exist: a fused region, maps, and host ops."""
    works: dict[str, Function] = {"a": fused(), "b": unary("relu"), "c": unary("exp"), "d": unary("neg")}
    graphs = {g.name: replace(g, ops=tuple(replace(op, work=works[op.name]) for op in g.ops)) for g in netlist.graphs.values()}
    host = replace(graphs["count"].ops[0], place=Host(), blocking=None, buffers=(), work=host_work())
    return replace(netlist, graphs={**graphs, "count": replace(graphs["count"], ops=(host,))})


def through_text(netlist: Netlist) -> Netlist:
    """The netlist after printing and parsing its IR."""
    module = from_model(netlist)
    verify(module)
    assert to_model(module) == netlist
    return to_model(parse_module(print_op(module), "test", [nn_dialect, tile_dialect, netlist_ops.dialect]))


def test_round_trip(real: Netlist) -> None:
    assert check(real) == []
    assert through_text(real) == real
    assert dumps(to_model(from_model(real))) == dumps(real)


def test_what_only_pointed_netlists_have_is_not_stored_for_others(real: Netlist) -> None:
    """Archives of netlists in order are byte for byte what they were before there were others."""
    for name in ("settings", "positions", "rounding", "epoch", "alias", "view"):
        assert f'"{name}"' not in dumps(real).decode()


def test_loops_nest(real: Netlist) -> None:
    inner = (Instruction("loop", ("$n",)), Instruction("execute", ("count",)), Instruction("endloop"))
    steps = (Instruction("var", ("$n", 3)), Instruction("loop", (2,)), *inner, *inner, Instruction("endloop"))
    programs = {**real.programs, "step": replace(real.programs["step"], instructions=steps)}
    assert through_text(replace(real, programs=programs)).programs["step"].instructions == steps


SETTINGS: tuple[tuple[str, Plain], ...] = (
    ("ints", (1, 2)), ("none", None), ("flag", False), ("floats", (1.0, 0.5)),
    ("nested", (("a", (1, 2.5)), ("b", (True, "é\"\n", ())), (None,))),
)  # fmt: skip


def pointed(netlist: Netlist) -> Netlist:
    """A netlist whose programs set the positions, with all that only such have."""
    first, second = netlist.graphs["first"], netlist.graphs["second"]
    send = Op("send", "ethernet_datacopy", ("a",), Ethernet(1, (8,), ()), first.ops[0].blocking, unary("identity"), first.ops[0].buffers)
    second = replace(second, chip=1, epoch=0, ops=(replace(second.ops[0], inputs=("send",)), second.ops[1]))
    view = Function((TILED,), (Work("tile.map", (0,), {"fn": "identity"}, (TILED,)),), (1,))
    queues = {
        **netlist.queues,
        "w": replace(netlist.queues["w"], alias="s", key=None, settings=SETTINGS),
        "y": replace(netlist.queues["y"], view=view, chip=1),
    }
    setting = QueueSetting("x", True, "$f", False, "$p", 3, None, 1, "$s", 0, True)
    steps = (
        Instruction("param", ("$p",)), Instruction("param", ("$f",)), Instruction("staticvar", ("$s", 7)), Instruction("allocate", ("e",)),
        Instruction("execute", ("first",), (setting, QueueSetting("w"))), Instruction("execute", ("second",)),
        Instruction("deallocate", ("e",)), Instruction("inc", ("$s", 1)),
    )  # fmt: skip
    ops = (replace(first.ops[0], rounding="none", settings=SETTINGS), send)
    graphs = {"first": replace(first, epoch=0, settings=SETTINGS, ops=ops), "second": second, "count": netlist.graphs["count"]}
    programs = {"forward": replace(netlist.programs["forward"], arguments=(), results=(), instructions=steps)}
    chip = replace(netlist.chip, chips=2)
    return replace(netlist, chip=chip, queues=queues, graphs=graphs, programs=programs, positions="pointers", settings=SETTINGS)


def test_what_only_pointed_netlists_have(real: Netlist) -> None:
    netlist = pointed(real)
    assert check(netlist) == []
    assert through_text(netlist) == netlist
    assert loads(dumps(netlist)) == netlist


def test_values_between_chips_are_received(real: Netlist) -> None:
    graph = netlist_ops.graphs_of(from_model(pointed(real)))["second"]
    (received,) = [op for op in graph.block.ops if isinstance(op, netlist_ops.ReceiveOp)]
    assert received.op == "send"
    assert graph.ops[0].inputs[0] is received.value


def test_locations_are_kept_as_they_are(real: Netlist) -> None:
    again = through_text(real)
    assert again.graphs["first"].ops[0].work.works[0].location == ("add", "add", "relu")


def broken(netlist: Netlist, name: str, **changes: Any) -> Netlist:
    graph = netlist.graphs[name]
    return replace(netlist, graphs={**netlist.graphs, name: replace(graph, ops=(replace(graph.ops[0], **changes), *graph.ops[1:]))})


def with_work(*works: Work) -> dict[str, Any]:
    return {"work": Function((TILED,), works, (len(works),))}


BROKEN: dict[str, tuple[str, dict[str, Any]]] = {
    "an op that does not exist": ("E0302", with_work(Work("tile.nothing", (0,), {}, (TILED,)))),
    "an attribute that does not exist": ("E0302", with_work(Work("tile.map", (0,), {"fn": "exp", "colour": 1}, (TILED,)))),
    "a value that does not exist": ("E0302", with_work(Work("tile.map", (9,), {"fn": "exp"}, (TILED,)))),
    "a dtype that does not exist": ("E0302", with_work(Work("nn.cast", (0,), {"dtype": "float12"}, (ROWS,)))),
    "a tensor of a device's format": ("E0302", with_work(Work("nn.relu", (0,), {}, (TensorType((1,), "Bfp8"),)))),
    "an input that does not exist": ("E0601", {"inputs": ("nothing",)}),
    "inputs that the work does not take": ("E0602", {"inputs": ()}),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_ir_cannot_have(real: Netlist, case: str) -> None:
    code, changes = BROKEN[case]
    with pytest.raises(Error) as error:
        from_model(broken(real, "second", **changes))
    assert error.value.code == code


@pytest.mark.parametrize("steps", [(("endloop",),), (("loop", 1),), (("jump", 1),), (("set", "$a"),)])
def test_instructions_that_are_none(real: Netlist, steps: Any) -> None:
    instructions = tuple(Instruction(opcode, args) for opcode, *args in ((s[0], *s[1:]) for s in steps))
    program = replace(real.programs["step"], instructions=tuple(Instruction(i.opcode, tuple(i.args)) for i in instructions))
    with pytest.raises(Error) as error:
        from_model(replace(real, programs={"step": program}))
    assert error.value.code == "E0608"


def test_graphs_hold_what_they_write(real: Netlist) -> None:
    graph = Graph("first", 0, 2, real.graphs["first"].ops, (("nobody", "e"),))
    with pytest.raises(Error) as error:
        from_model(replace(real, graphs={**real.graphs, "first": graph}))
    assert error.value.code == "E0601"
    assert isinstance(real.graphs["first"].ops[0].place, Grid)
