"""Rules of netlists whose programs set the positions in queues, and of graphs that run together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.netlist.checks import check
from ttc.dialects.netlist.model import Ethernet, Instruction, Netlist, Op, QueueSetting
from ttc.runtime.manifest import Description
from ttc.runtime.program import build_program

TILED = TensorType((1, 64, 128), "Float32", "tiles(32, 32)")
COPY = Function((TILED,), (Work("tile.map", (0,), {"fn": "identity"}, (TILED,)),), (1,))
RESHAPE = Function((TILED,), (Work("tile.map", (0,), {"fn": "identity"}, (replace(TILED, shape=(1, 32, 128)),)),), (1,))
Mutation = Callable[[Netlist], Netlist]


@pytest.fixture
def pointed(netlist: Netlist) -> Netlist:
    """The fixture as Buda has it: positions set by programs, whose queues share bytes and hold more than their graphs need."""
    setting = QueueSetting("x", rd_ptr_local="$p", rd_ptr_global=0, rd_ptr_autoinc=1)
    steps = (
        Instruction("param", ("$p",)), Instruction("staticvar", ("$s", 0)), Instruction("set", ("$undeclared", "$s")),
        Instruction("allocate", ("e",)), Instruction("execute", ("first",), (setting,)), Instruction("deallocate", ("e",)),
    )  # fmt: skip
    forward = replace(netlist.programs["forward"], arguments=(), results=(), instructions=steps)
    queues = {name: replace(q, key=None, lifetime=None) for name, q in netlist.queues.items()}
    return replace(netlist, queues=queues, programs={"forward": forward}, positions="pointers")


def queue(name: str, /, **changes: Any) -> Mutation:
    return lambda n: replace(n, queues={**n.queues, name: replace(n.queues[name], **changes)})


def graph(name: str, /, **changes: Any) -> Mutation:
    return lambda n: replace(n, graphs={**n.graphs, name: replace(n.graphs[name], **changes)})


def step(*args: Any, settings: tuple[QueueSetting, ...] = ()) -> Mutation:
    def mutate(n: Netlist) -> Netlist:
        program = n.programs["forward"]
        more = (*program.instructions, Instruction(args[0], args[1:], settings))
        return replace(n, programs={"forward": replace(program, instructions=more)})

    return mutate


def execute(setting: QueueSetting, *more: QueueSetting) -> Mutation:
    return step("execute", "first", settings=(setting, *more))


def together(second: dict[str, Any], inputs: tuple[str, ...] = ("a",), back: str | None = None) -> Mutation:
    """Both graphs in epoch 3, the second on chip 1 reading results of the first; back: what the first reads of the second."""

    def mutate(n: Netlist) -> Netlist:
        first, other = n.graphs["first"], n.graphs["second"]
        ops = first.ops if back is None else (replace(first.ops[0], inputs=("x", back)),)
        graphs = {
            "first": replace(first, epoch=3, ops=ops),
            "second": replace(other, **{"epoch": 3, "chip": 1, **second}, ops=(replace(other.ops[0], inputs=inputs), other.ops[1])),
        }
        return replace(n, chip=replace(n.chip, chips=2), graphs={**n.graphs, **graphs})

    return mutate


def ethernet(place: Ethernet) -> Mutation:
    def mutate(n: Netlist) -> Netlist:
        first = n.graphs["first"]
        send = Op("send", "ethernet_datacopy", ("a",), place, first.ops[0].blocking, COPY, first.ops[0].buffers)
        return replace(n, graphs={**n.graphs, "first": replace(first, ops=(*first.ops, send))})

    return mutate


VALID: dict[str, Mutation] = {
    "as it is": lambda n: n,
    "bytes shared by queues": queue("w", buffers=((0, 0),) * 4),
    "an alias": queue("w", alias="s"),
    "a view": queue("y", view=COPY),
    "fewer entries than microbatches": queue("x", entries=1),
    "graphs that run together": together({}),
    "a loop that runs for long": lambda n: step("endloop")(step("loop", 1 << 40)(n)),
    "an Ethernet core": ethernet(Ethernet(0, (8,), (0, 1))),
    "a queue of the host as large as it likes": queue("x", location="host", buffer_bytes=1 << 40),
}
RULES: dict[str, tuple[str, Mutation]] = {
    "buffers that the grid has not": ("E0602", queue("x", grid=(1, 1))),
    "a negative address": ("E0605", queue("x", buffers=((0, -1),) * 4)),
    "a chip that is not there": ("E0605", queue("x", chip=1)),
    "blocks of nothing": ("E0602", lambda n: queue("x", blocking=replace(n.queues["x"].blocking, t=0))(n)),  # pyright: ignore[reportArgumentType]
    "an alias of nothing": ("E0601", queue("w", alias="nothing")),
    "an alias of itself": ("E0601", queue("w", alias="w")),
    "a view to something else": ("E0602", queue("y", view=RESHAPE)),
    "a view of something else": ("E0602", queue("y", view=Function((TensorType((1,), "Float32"),), COPY.works, (1,)))),
    "another writer": ("E0606", queue("y", source="a")),
    "allocation of nothing": ("E0601", step("allocate", "nothing")),
    "a parameter twice": ("E0608", step("param", "$p")),
    "a value that was never set": ("E0608", step("set", "$a", "$b")),
    "settings of a queue that is not read": ("E0608", execute(QueueSetting("y"))),
    "settings twice": ("E0608", execute(QueueSetting("x"), QueueSetting("x"))),
    "settings by an unknown variable": ("E0608", execute(QueueSetting("x", zero="$z"))),
    "two graphs on a chip": ("E0603", together({"chip": 0}, ("e",))),
    "different microbatches": ("E0602", together({"input_count": 3})),
    "graphs apart": ("E0606", together({"epoch": 4})),
    "a circle": ("E0606", together({}, back="c")),
    "a core used twice": (
        "E0603",
        lambda n: graph("first", ops=(n.graphs["first"].ops[0], replace(n.graphs["first"].ops[0], name="z")))(n),
    ),
    "Ethernet to a chip that is not there": ("E0603", ethernet(Ethernet(2))),
    "a channel of no number": ("E0603", ethernet(Ethernet(0, (-1,)))),
}


@pytest.mark.parametrize("case", VALID)
def test_valid(pointed: Netlist, case: str) -> None:
    assert check(VALID[case](pointed)) == []


@pytest.mark.parametrize("rule", RULES)
def test_rule(pointed: Netlist, rule: str) -> None:
    code, mutate = RULES[rule]
    assert {v.code for v in check(mutate(pointed))} == {code}


def set_once(netlist: Netlist) -> Netlist:
    """The first graph is executed with settings."""
    program = netlist.programs["forward"]
    first, *rest = program.instructions
    steps = (replace(first, settings=(QueueSetting("x"),)), *rest)
    return replace(netlist, programs={**netlist.programs, "forward": replace(program, instructions=steps)})


ONLY_POINTED: dict[str, tuple[str, Mutation]] = {
    "an alias": ("E0609", queue("w", alias="s")),
    "a view": ("E0609", queue("y", view=COPY)),
    "an allocation": ("E0608", step("allocate", "e")),
    "settings of queues": ("E0608", set_once),
    "variables of any name": ("E0608", step("var", "$1", 0)),
    "variables that are not declared": ("E0608", step("set", "$undeclared", 0)),
}


@pytest.mark.parametrize("case", ONLY_POINTED)
def test_what_netlists_in_order_cannot_have(netlist: Netlist, case: str) -> None:
    code, mutate = ONLY_POINTED[case]
    assert {v.code for v in check(mutate(netlist))} == {code}


def test_engines_of_archives_refuse_them(pointed: Netlist) -> None:
    with pytest.raises(Error) as error:
        build_program(pointed, Description("m", "0"), {})
    assert error.value.code == "E0702"
    assert "ttc netlist run" in str(error.value.hint)
