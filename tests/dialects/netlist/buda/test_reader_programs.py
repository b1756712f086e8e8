"""Instructions of programs."""

from __future__ import annotations

import pytest

from ttc.dialects.netlist.buda.reader import read_form


def instructions(step: str) -> tuple[list[tuple[str, tuple[object, ...]]], list[str]]:
    form, found = read_form(f"programs:\n  - p:\n    - {step}\n".encode(), "n")
    return [(i.opcode, i.args) for i in form.programs["p"].instructions], [v.message for v in found]


@pytest.mark.parametrize(
    ("step", "opcode", "args"),
    [
        ("var: [$a, $b]", "var", (("$a", 0), ("$b", 0))),
        ("staticvar: {$a: 0x10, $b: -1}", "staticvar", (("$a", 16), ("$b", -1))),
        ("param: [$a]", "param", ("$a",)),
        ("varinst: [$a, set, 3]", "varinst", ("$a", "set", 3)),
        ("varinst: [$a, mul, $b, 0x2]", "varinst", ("$a", "mul", "$b", 2)),
        ("varinst: [$a, inc, $b]", "varinst", ("$a", "inc", "$b")),
        ("varinst: [$a, incwrap, 1, $b]", "varinst", ("$a", "incwrap", 1, "$b")),
        ("loop: 4", "loop", (4,)),
        ("loop: $n", "loop", ("$n",)),
        ("endloop", "endloop", ()),
        ("endloop:", "endloop", ()),
        ("allocate_queue: [a, b]", "allocate_queue", ("a", "b")),
        ("deallocate_queue: [a]", "deallocate_queue", ("a",)),
        ("execute: {graph_name: g}", "execute", ("g",)),
        ("execute: {graph_name: g, queue_settings: }", "execute", ("g",)),
    ],
)
def test_steps(step: str, opcode: str, args: tuple[object, ...]) -> None:
    assert instructions(step) == ([(opcode, args)], [])


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("var: [a]", "var takes $variables, not 'a'"),
        ("var: {$a: x}", "var takes an integer, not 'x'"),
        ("var: 3", "var takes a list, not '3'"),
        ("varinst: [$a]", "varinst takes [$variable, operation, values], not ['$a']"),
        ("varinst: [$a, set]", "varinst set takes 1 value, not 0"),
        ("varinst: [$a, add, $b, c]", "varinst takes $variables, not 'c'"),
        ("loop: x", "loop takes $variables, not 'x'"),
        ("endloop: 3", "endloop takes nothing, not '3'"),
        ("endprogram:", "endprogram is appended to every program and cannot be written"),
        ("jump: 3", "there is no instruction 'jump'"),
        ("[a]", "there is no instruction ['a']"),
        ("execute: g", "execute takes {graph_name: ..., queue_settings: ...}, not 'g'"),
        ("execute: {queue_settings: {}}", "execute does not say which graph: graph_name is missing"),
        ("execute: {graph_name: g, queue_settings: [q]}", "execute takes a map of queues as queue_settings, not ['q']"),
    ],
)
def test_what_is_no_step(step: str, message: str) -> None:
    found = instructions(step)
    assert found == ([], [message])
