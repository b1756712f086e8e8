"""Rules of queues that one program fills and another reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.dialects.netlist.conftest import HEADER, TILE_BYTES, spread
from ttc.dialects.netlist.checks import check
from ttc.dialects.netlist.json_text import dumps, loads
from ttc.dialects.netlist.model import Instruction, Netlist, Program

Mutation = Callable[[Netlist], Netlist]


def stash(**changes: Any) -> Mutation:
    return lambda n: replace(n, queues={**n.queues, "e": replace(n.queues["e"], **changes)})


def steps(name: str, *instructions: tuple[Any, ...]) -> Mutation:
    found = tuple(Instruction(opcode, tuple(args)) for opcode, *args in instructions)
    return lambda n: replace(n, programs={**n.programs, name: replace(n.programs[name], instructions=found)})


def sized(entries: int) -> dict[str, Any]:
    return {"entries": entries, "buffer_bytes": HEADER + entries * 2 * TILE_BYTES}


@pytest.fixture
def stashing(netlist: Netlist) -> Netlist:
    """`forward` runs `first`, which fills stash `e` with two microbatches; `backward` runs `second`, which reads it."""
    whole = netlist.programs["forward"]
    forward = Program("forward", whole.arguments, (), (Instruction("execute", ("first",)),))
    backward = Program("backward", (), whole.results, (Instruction("execute", ("second",)),))
    queues = {
        **netlist.queues,
        "e": replace(netlist.queues["e"], kind="stash", lifetime=None),
        "y": replace(netlist.queues["y"], buffers=spread(4), lifetime=None),
    }
    return replace(netlist, queues=queues, programs={"forward": forward, "backward": backward, "step": netlist.programs["step"]})


TWICE = (("loop", 2), ("execute", "first"), ("endloop",))
RULES: dict[str, tuple[str, Mutation, str]] = {
    "nobody fills it": ("E0608", steps("forward"), "no program fills"),
    "nobody reads it": ("E0608", lambda n: replace(n, programs={"forward": n.programs["forward"]}), "no program reads"),
    "one program does both": ("E0608", steps("forward", ("execute", "first"), ("execute", "second")), "'forward' both fills and reads"),
    "a run fills more than it holds": ("E0602", steps("forward", *TWICE), "writes 4 entries of this stash, which holds 2"),
    "a run reads more than it holds": (
        "E0602",
        steps("backward", ("var", "$n", 3), ("loop", "$n"), ("execute", "second"), ("endloop",)),
        "reads 6 entries of this stash, which holds 2",
    ),
    "it has a lifetime": ("E0605", stash(lifetime=(0, 1)), "a stash holds its value always"),
    "it is read in place": ("E0609", stash(type="ram"), "its type is queue"),
    "it has a key": ("E0609", stash(key="k"), "kind stash has no key"),
    "the host fills it": ("E0606", stash(source="HOST"), "'a' writes it"),
    "it lies where an input does": ("E0605", stash(buffers=spread(0)), "overlap"),
    "it is an edge": ("E0608", stash(kind="edge"), "before anything fills it"),
}


def test_a_stash_is_legal(stashing: Netlist) -> None:
    assert check(stashing) == []


def test_several_programs_may_fill_and_read_it(stashing: Netlist) -> None:
    programs = stashing.programs
    more = {"warm": replace(programs["forward"], name="warm"), "drain": replace(programs["backward"], name="drain")}
    assert check(replace(stashing, programs={**programs, **more})) == []


def test_a_run_may_fill_it(stashing: Netlist) -> None:
    apart = tuple((channel, address + (1 << 25)) for channel, address in spread(6)[:2] + spread(9)[:2])
    assert check(stash(**sized(4), buffers=apart)(steps("forward", *TWICE)(stashing))) == []


@pytest.mark.parametrize("rule", RULES)
def test_rule(stashing: Netlist, rule: str) -> None:
    code, mutate, message = RULES[rule]
    found = check(mutate(stashing))
    assert {v.code for v in found} == {code}, found
    assert any(message in v.message for v in found), found


def test_json_keeps_it(stashing: Netlist) -> None:
    assert loads(dumps(stashing)) == stashing
