"""Parts of a netlist by chip: graphs, queues, programs and memory of each, joints, and what cannot be split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.dialects.netlist.conftest import HEADER, HOST, ROWS, SHAPE, TILE_BYTES, TILED, device_op, queue, spread, unary
from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.checks import check
from ttc.dialects.netlist.model import Argument, Graph, Host, Instruction, Netlist, Op, Program
from ttc.dialects.netlist.split import Joint, split

KEYS = {"s": ("s0",), "w": ("w",)}
Mutation = Callable[[Netlist], Netlist]


@pytest.fixture
def two(netlist: Netlist) -> Netlist:
    """`first` and `count` run on chip 0, `second` on chip 1, which holds what it reads and fills."""
    queues = {
        **netlist.queues,
        "e": replace(netlist.queues["e"], chip=1, lifetime=None),
        "y": replace(netlist.queues["y"], chip=1),
    }
    graphs = {**netlist.graphs, "second": replace(netlist.graphs["second"], chip=1)}
    found = replace(netlist, chip=replace(netlist.chip, chips=2, links=((0, 1, 4),)), queues=queues, graphs=graphs)
    assert check(found) == []
    return found


def steps(*instructions: tuple[Any, ...], name: str = "forward") -> Mutation:
    found = tuple(Instruction(opcode, tuple(args)) for opcode, *args in instructions)
    return lambda n: replace(n, programs={**n.programs, name: replace(n.programs[name], instructions=found)})


def test_one_chip_is_one_part(netlist: Netlist) -> None:
    found = split(netlist, KEYS)
    assert found.joints == ()
    assert found.parts == {0: netlist}


def test_each_part_has_what_its_graphs_use(two: Netlist) -> None:
    found = split(two, KEYS)
    assert found.joints == (Joint("e", "e", 0, 1),)
    first, second = found.parts[0], found.parts[1]
    assert (list(first.graphs), list(second.graphs)) == (["first", "count"], ["second"])
    assert (list(first.queues), list(second.queues)) == (["x", "w", "s", "e"], ["e", "y"])
    assert (list(first.programs), list(second.programs)) == (["forward", "step"], ["forward"])
    assert first.programs["step"] == two.programs["step"]
    assert first.programs["forward"].arguments == two.programs["forward"].arguments
    assert first.programs["forward"].results == (Argument("e", "output", "e", (2, *SHAPE), "float32", streamed=True),)
    assert second.programs["forward"].arguments == (Argument("e", "input", "e", (2, *SHAPE), "float32", streamed=True),)
    assert second.programs["forward"].results == two.programs["forward"].results


def test_a_joint_is_an_output_here_and_an_input_there(two: Netlist) -> None:
    found = split(two, KEYS)
    given, taken = found.parts[0].queues["e"], found.parts[1].queues["e"]
    assert given == replace(two.queues["e"], kind="output")
    assert taken == replace(two.queues["e"], kind="input", source="HOST")
    assert found.parts[1].queues["y"].lifetime == (0, 0)  # the second epoch of the whole is the first of the part


def test_loops_stay_around_what_they_hold(two: Netlist) -> None:
    inner = (("loop", 1), ("execute", "second"), ("endloop",))
    found = split(steps(("var", "$n", 3), ("loop", "$n"), ("execute", "first"), *inner, ("endloop",))(two), KEYS)
    opcodes = {chip: [step.opcode for step in part.programs["forward"].instructions] for chip, part in found.parts.items()}
    assert opcodes[0] == ["var", "loop", "execute", "endloop"]
    assert opcodes[1] == ["var", "loop", "loop", "execute", "endloop", "endloop"]
    for part in found.parts.values():  # what all rounds pass
        assert (part.queues["e"].entries, part.queues["e"].buffer_bytes) == (6, HEADER + 6 * 2 * TILE_BYTES)
    assert found.parts[1].programs["forward"].arguments[0].shape == (6, *SHAPE)


def test_a_queue_that_needs_more_room_moves(two: Netlist) -> None:
    """Behind what else lies in its channels."""
    whole = steps(("loop", 9), ("execute", "first"), ("execute", "second"), ("endloop",))(two)
    near = replace(whole.queues["y"], buffers=tuple((c, a + 2 * (HEADER + 4 * TILE_BYTES)) for c, a in whole.queues["e"].buffers))
    part = split(replace(whole, queues={**whole.queues, "y": near}), KEYS).parts[1]
    assert part.queues["y"].buffers == near.buffers
    assert min(a for _, a in part.queues["e"].buffers) >= max(a for _, a in near.buffers) + near.buffer_bytes


def test_an_output_may_be_read_by_another_chip(two: Netlist) -> None:
    shown = replace(two.programs["forward"].results[0], name="e", queue="e")
    queues = {**two.queues, "e": replace(two.queues["e"], kind="output")}
    program = replace(two.programs["forward"], results=(*two.programs["forward"].results, shown))
    found = split(replace(two, queues=queues, programs={**two.programs, "forward": program}), KEYS)
    assert found.joints == (Joint("e_", "e", 0, 1),)
    assert [(r.name, r.queue) for r in found.parts[0].programs["forward"].results] == [("e", "e"), ("e_", "e")]
    assert [a.name for a in found.parts[1].programs["forward"].arguments] == ["e_"]


def stashing(two: Netlist) -> Netlist:
    """`forward` runs `first`, `backward` runs `second`."""
    whole = two.programs["forward"]
    programs = {
        "forward": replace(whole, results=(), instructions=whole.instructions[:1]),
        "backward": replace(whole, name="backward", arguments=(), instructions=whole.instructions[1:]),
        "step": two.programs["step"],
    }
    queues = {**two.queues, "e": replace(two.queues["e"], kind="stash"), "y": replace(two.queues["y"], lifetime=(0, 0))}
    found = replace(two, queues=queues, programs=programs)
    assert check(found) == []
    return found


def test_a_stash_between_chips_joins_two_programs(two: Netlist) -> None:
    found = split(stashing(two), KEYS)
    assert found.joints == (Joint("e", "e", 0, 1),)
    assert [r.name for r in found.parts[0].programs["forward"].results] == ["e"]
    assert [a.name for a in found.parts[1].programs["backward"].arguments] == ["e"]
    assert "backward" not in found.parts[0].programs


def test_a_stash_of_one_chip_stays_one(two: Netlist) -> None:
    whole = stashing(two)
    moved = replace(whole, graphs={**whole.graphs, "second": replace(whole.graphs["second"], chip=0)})
    near = {name: replace(moved.queues[name], chip=0) for name in ("e", "y")} | {"x": replace(moved.queues["x"], lifetime=(1, 1))}
    apart = replace(near["y"], buffers=spread(5))
    found = split(replace(moved, queues={**moved.queues, "e": near["e"], "y": apart}), KEYS)
    assert found.joints == ()
    assert found.parts[0].queues["e"].kind == "stash"


def hosted(two: Netlist, chip: int) -> Netlist:
    """The whole with a graph on the host behind it, and what it fills in memory of the program."""
    flat = {"location": "host", "grid": (1, 1), "blocking": None, "tensor": ROWS, "buffer_bytes": HEADER + 2 * 64 * 128 * 4}
    last = Graph("last", chip, 2, (Op("h", "exp", ("y",), Host(), None, unary(ROWS, "nn.exp")),), (("h", "z"),))
    program = two.programs["forward"]
    result = replace(program.results[0], name="z", queue="z")
    program = replace(program, results=(*program.results, result), instructions=(*program.instructions, Instruction("execute", ("last",))))
    queues = {
        **two.queues,
        "y": replace(two.queues["y"], lifetime=(1, 2)),
        "z": queue("z", "output", ((0, 0),), source="h", lifetime=(2, 2), **flat),
    }
    return replace(two, queues=queues, graphs={**two.graphs, "last": last}, programs={**two.programs, "forward": program})


@pytest.mark.parametrize("chip", [0, 1])
def test_a_graph_on_the_host_goes_with_what_it_reads(two: Netlist, chip: int) -> None:
    found = split(hosted(two, chip), KEYS)
    assert found.parts[1].graphs["last"].chip == 1
    assert found.joints == (Joint("e", "e", 0, 1),)


def test_graphs_on_the_host_alone_keep_their_chips() -> None:
    flat = {"location": "host", "grid": (1, 1), "blocking": None, "tensor": ROWS, "buffer_bytes": 2 * 64 * 128 * 4}
    size = 2 * 64 * 128 * 4
    queues = [
        queue("x", "input", ((0, 0),), lifetime=(0, 0), **flat),
        queue("e", "edge", ((0, size),), source="a", lifetime=(0, 1), **flat),
        queue("y", "output", ((0, 0),), source="b", lifetime=(1, 1), **flat),
    ]
    graphs = [
        Graph("one", 0, 2, (Op("a", "exp", ("x",), Host(), None, unary(ROWS, "nn.exp")),), (("a", "e"),)),
        Graph("two", 1, 2, (Op("b", "exp", ("e",), Host(), None, unary(ROWS, "nn.exp")),), (("b", "y"),)),
    ]
    x, y = (Argument(n, k, n, (2, *SHAPE), "float32", streamed=True) for n, k in (("x", "input"), ("y", "output")))
    program = Program("forward", (x,), (y,), (Instruction("execute", ("one",)), Instruction("execute", ("two",))))
    whole = Netlist(replace(HOST, chips=2), {q.name: q for q in queues}, {g.name: g for g in graphs}, {"forward": program})
    assert check(whole) == []
    found = split(whole, {})
    assert [list(part.graphs) for part in found.parts.values()] == [["one"], ["two"]]
    given = {chip: part.queues["e"] for chip, part in found.parts.items()}
    assert {chip: (e.kind, e.lifetime) for chip, e in given.items()} == {0: ("output", None), 1: ("input", None)}


def reading(name: str, source: str, chip: int) -> Mutation:
    """One more graph on a chip that reads a queue and fills `z`."""

    def mutate(n: Netlist) -> Netlist:
        far = tuple((i % 2, (1 << 25) * (1 + i)) for i in range(4))
        count = 1 if n.queues[source].type == "ram" else 2
        graph = Graph(name, chip, count, (device_op(f"{name}_op", (source,), unary(TILED, "tile.neg"), 0),), ((f"{name}_op", "z"),))
        program = n.programs["forward"]
        program = replace(program, instructions=(*program.instructions, Instruction("execute", (name,))))
        queues = {**n.queues, "z": queue("z", "edge", far, source=f"{name}_op", chip=chip)}
        return replace(n, queues=queues, graphs={**n.graphs, name: graph}, programs={**n.programs, "forward": program})

    return mutate


def circular(n: Netlist) -> Netlist:
    """Chip 0 reads what chip 1 made of its results."""
    found = reading("third", "y", 0)(n)
    return replace(found, queues={**found.queues, "y": replace(found.queues["y"], chip=0, buffers=spread(5), lifetime=None)})


def direct(n: Netlist) -> Netlist:
    """An op of the second graph reads the result of one of the first."""
    second = n.graphs["second"]
    ops = (replace(second.ops[0], inputs=("a",)), *second.ops[1:])
    return replace(n, graphs={**n.graphs, "first": replace(n.graphs["first"], epoch=0), "second": replace(second, ops=ops, epoch=0)})


def counted(n: Netlist) -> Netlist:
    return steps(("var", "$n", 1), ("inc", "$n", 1), ("loop", "$n"), ("execute", "first"), ("execute", "second"), ("endloop",))(n)


def uneven(n: Netlist) -> Netlist:
    return steps(("execute", "first"), ("loop", 2), ("execute", "second"), ("endloop",))(n)


REFUSED: dict[str, tuple[Mutation, str, str]] = {
    "positions that programs set": (lambda n: replace(n, positions="pointers"), "E0503", "its programs set the positions"),
    "a state on two chips": (reading("third", "s", 1), "E0503", "state 's' is used by graphs of chips 0 and 1"),
    "chips that wait for each other": (circular, "E0503", "chips 0 and 1 wait for each other's results within a run"),
    "values without a queue": (direct, "E0503", "reads the result of op 'a' on another chip without a queue"),
    "a loop of unknown count": (counted, "E0503", "does not tell how many entries a run passes to another chip"),
    "ends that pass different amounts": (uneven, "E0503", r"runs pass \[2, 1, 64, 128\] and \[4, 1, 64, 128\] from chip 0 to 1"),
    "a stash that both chips read": (lambda n: reading("third", "e", 0)(stashing(n)), "E0503", "chips 0 and 1 both read this stash"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_split(two: Netlist, case: str) -> None:
    mutate, code, message = REFUSED[case]
    with pytest.raises(Error, match=message) as failure:
        split(mutate(two), KEYS)
    assert failure.value.code == code


def test_what_derives_from_a_parameter_stays_with_what_updates_it(two: Netlist) -> None:
    """A result on chip 1 updates `w`, which chip 0 reads."""
    update = Argument("w", "parameter", "y", (2, *SHAPE), "float32", streamed=True, updates="w")
    found = replace(two, programs={**two.programs, "forward": replace(two.programs["forward"], results=(update,))})
    with pytest.raises(Error, match="state 'w' is used by graphs of chips 0 and 1"):
        split(found, KEYS)
    with pytest.raises(Error, match="updates 'w', whose tensors are not known") as failure:
        split(found, {"s": ("s0",)})
    assert failure.value.code == "E0601"
