"""Instructions of programs: loops, variables, bounds."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.instructions import check_instructions
from ttc.dialects.netlist.model import Instruction, Program
from ttc.runtime.machine.limits import Limits, Meter
from ttc.runtime.machine.stepper import Actions, ResolvedSetting, Stepper


def parse(text: str) -> list[Instruction]:
    lines = [line.split() for line in text.split(";")]
    return [Instruction(op, tuple(int(a) if a.lstrip("-").isdigit() else a for a in args)) for op, *args in lines]


class Graphs(Actions):
    """Notes which graphs are executed."""

    def __init__(self) -> None:
        self.executed = ""

    def execute(self, graph: str, settings: Mapping[str, ResolvedSetting]) -> None:
        self.executed += graph


def executed(text: str) -> str:
    graphs = Graphs()
    Stepper(Program("p", (), (), tuple(parse(text)))).run(graphs, Meter(Limits(steps=1000)))
    return graphs.executed


@pytest.mark.parametrize(
    ("text", "graphs"),
    [
        ("execute a; execute b", "ab"),
        ("loop 2; execute a; loop 3; execute b; endloop; endloop; execute c", "abbbabbbc"),
        ("var $n 2; inc $n 1; loop $n; execute a; endloop", "aaa"),
        ("var $n 2; var $m 0; mul $m $n 2; add $m $m -1; loop $m; execute a; endloop", "aaa"),
        ("var $n 3; incwrap $n 2 4; loop $n; execute a; endloop", "a"),
        ("var $n 3; set $n 2; loop $n; set $n 9; execute a; endloop", "aa"),
    ],
)
def test_graphs_run_in_order(text: str, graphs: str):
    assert executed(text) == graphs


@pytest.mark.parametrize(
    "text",
    [
        "jump 1",
        "execute",
        "loop 1",
        "endloop",
        "loop 1; endloop; endloop",
        "loop $n; endloop",
        "loop 0; execute a; endloop",
        "var $n 1; incwrap $n 1 0",
        "var $n 3; loop 100; mul $n $n $n; endloop",
    ],
)
def test_programs_that_are_refused(text: str):
    with pytest.raises(Error) as failure:
        executed(text)
    assert failure.value.code == "E0608"


def test_endless_programs_are_stopped():
    with pytest.raises(Error) as failure:
        executed("loop 1000000000; loop 1000000000; endloop; endloop")
    assert failure.value.code == "E0805"


def test_loops_are_matched():
    assert check_instructions(parse("loop 1; loop 2; endloop; endloop")) == {0: 3, 1: 2}
