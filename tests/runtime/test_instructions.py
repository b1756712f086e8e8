"""Instructions of programs: loops, variables, bounds."""

from __future__ import annotations

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.model import Instruction
from ttc.runtime.instructions import check_instructions, run_instructions


def parse(text: str) -> list[Instruction]:
    lines = [line.split() for line in text.split(";")]
    return [Instruction(op, tuple(int(a) if a.lstrip("-").isdigit() else a for a in args)) for op, *args in lines]


def executed(text: str, max_steps: int = 1000) -> str:
    graphs: list[str] = []
    run_instructions(parse(text), graphs.append, max_steps)
    return "".join(graphs)


@pytest.mark.parametrize(
    ("text", "graphs"),
    [
        ("execute a; execute b", "ab"),
        ("loop 2; execute a; loop 3; execute b; endloop; endloop; execute c", "abbbabbbc"),
        ("loop 0; execute a; loop 2; execute b; endloop; endloop; execute c", "c"),
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
        "inc $n 1",
        "var $n 1; incwrap $n 1 0",
        "loop 1000000000; loop 1000000000; endloop; endloop",
        "var $n 3; loop 100; mul $n $n $n; endloop",
    ],
)
def test_programs_that_are_refused(text: str):
    with pytest.raises(Error) as failure:
        executed(text)
    assert failure.value.code == "E0608"


def test_loops_are_matched():
    assert check_instructions(parse("loop 1; loop 2; endloop; endloop")) == {0: 3, 1: 2}
