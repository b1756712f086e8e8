"""Epochs: every op once and in order, nothing overlaps, known optima are found, more effort is never worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

import pytest

from tests.passes.tile_to_netlist.made import candidate, even, found, small
from tests.passes.tile_to_netlist.made import chain as made_chain
from ttc.dialects.core.errors import Error
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.core.plain.functions import TensorType
from ttc.passes.tile_to_netlist.blocking import Blockings, BlockingSubject, find
from ttc.passes.tile_to_netlist.epochs import EFFORTS, EpochRange, PackingVerdict, Placed, cut
from ttc.passes.tile_to_netlist.problem import Problem, ProblemNode
from ttc.passes.tile_to_netlist.turns import Turn
from ttc.runtime.perf.base import OpView

TARGET = load_target("n150")


def matmul(n: int, rows: int = 128) -> Blockings:
    tensors = [TensorType(shape, "Float16_b", "tiles(32, 32)") for shape in ((rows, 256), (256, n), (rows, n))]
    view = OpView("matmul", {}, (tensors[0], tensors[1], None), tensors[2], "HiFi4")
    return find(BlockingSubject(view, frozenset({1})), TARGET)


def chain(widths: list[int], input_count: int) -> Problem:
    known = {n: matmul(n) for n in set(widths)}
    nodes = [
        ProblemNode(known[n], n, (i - 1,) if i else (), 0 if i else 1 << 16, n * 256, stored=i + 1 == len(widths))
        for i, n in enumerate(widths)
    ]
    return Problem(nodes, TARGET, input_count)


@pytest.mark.parametrize("effort", range(len(EFFORTS)))
def test_every_op_is_placed_once_without_overlap(effort: int) -> None:
    epochs = cut(chain([64, 512, 2048] * 12, 4), EFFORTS[effort])
    assert [e.begin for e in epochs] == [sum(len(e.ops) for e in epochs[:i]) for i in range(len(epochs))]
    assert sum(len(e.ops) for e in epochs) == 36
    for epoch in epochs:
        used = [core for op in epoch.ops for core in op.place.cores()]
        assert len(used) == len(set(used)) <= 72


def test_cores_follow_work_when_streaming() -> None:
    (epoch,) = cut(chain([64, 2048], 64), EFFORTS[1])
    small, large = (op.candidate.cores for op in epoch.ops)
    assert large >= 4 * small


@pytest.mark.parametrize("input_count", [1, 8, 64])
@pytest.mark.parametrize("widths", [[64, 2048], [512] * 5, [64, 512, 2048, 512, 64] * 2])
def test_more_effort_is_never_worse(widths: list[int], input_count: int) -> None:
    times = [sum(e.cycles for e in cut(chain(widths, input_count), effort)) for effort in EFFORTS]
    assert times[0] >= times[1]
    assert times[0] >= times[2]


def test_two_ops_side_by_side_or_in_turn() -> None:
    """Each takes 100,000 cycles on one of 2 x 2 cores, half of that on two, and 30,000 on all.

    Many microbatches are done best side by side, on two cores each; one of ops that gain by all cores more than a switch costs, in turn.
    """
    target = small()
    square = found(candidate(1, 1, 100_000), candidate(1, 2, 50_000), candidate(2, 2, 30_000))
    (epoch,) = cut(made_chain([square] * 2, target, 64), EFFORTS[1])
    assert [op.candidate.cores for op in epoch.ops] == [2, 2]
    large = found(candidate(1, 1, 100_000_000), candidate(1, 2, 99_000_000), candidate(2, 2, 25_000_000))
    epochs = cut(made_chain([large] * 2, target, 1), EFFORTS[1])
    assert [[op.candidate.cores for op in e.ops] for e in epochs] == [[4], [4]]


def test_an_epoch_that_stands_still_is_never_chosen() -> None:
    """The judge says that the first and the last op must not meet: more cuts are made than time alone asks for."""

    def judge(turn: Turn, begin: int, placed: Sequence[Placed]) -> PackingVerdict:
        return PackingVerdict(tuple(placed), inf if len(placed) > 2 else 1000.0)

    for effort in EFFORTS:
        epochs = cut(made_chain([even(1000, 2)] * 5, small(3, 3), 8), effort, judge)
        assert sum(len(e.ops) for e in epochs) == 5
        assert max(len(e.ops) for e in epochs) == 2


def test_an_epoch_begins_where_it_is_asked_for() -> None:
    problem = made_chain([even(1000, 2)] * 4, small(3, 3), 8)
    nodes = [replace(node, breaks=i == 3) for i, node in enumerate(problem.nodes)]
    assert [e.begin for e in cut(replace(problem, nodes=nodes), EFFORTS[1])] == [0, 3]


def test_cuts_into_epochs_that_are_alike_are_tried_where_ops_repeat() -> None:
    """Epochs of whole layers are cheap, as only packing shows, and one round of cutting does not find them."""
    layer = [even(1000 + 10 * i, 2) for i in range(5)]
    made = made_chain(layer * 6, small(4, 4), 8)
    problem = replace(made, nodes=[replace(node, kind=i % 5) for i, node in enumerate(made.nodes)])

    def judge(turn: Turn, begin: int, placed: Sequence[Placed]) -> PackingVerdict:
        return PackingVerdict(tuple(placed), 100.0 if begin % 5 == 0 and len(placed) == 5 else 1e9)

    hasty = replace(EFFORTS[1], rounds=1)
    assert [e.begin for e in cut(problem, hasty, judge)] == [0, 5, 10, 15, 20, 25]
    assert sum(e.cycles for e in cut(problem, replace(hasty, repeats=0), judge)) >= 1e9


def test_chips_in_turn_compare_the_cuts_of_a_layer_when_packed() -> None:
    """Two epochs a layer are cheap, as only packing shows; what is known of one layer's cuts holds for the others."""
    layer = [even(1000 + 10 * i, 2) for i in range(5)]
    made = made_chain(layer * 6, small(4, 4), 1)
    problem = replace(made, nodes=[replace(node, kind=i % 5) for i, node in enumerate(made.nodes)], turns=2)
    asked: list[tuple[int, int]] = []

    def judge(turn: Turn, begin: int, placed: Sequence[Placed]) -> PackingVerdict:
        asked.append((begin, len(placed)))
        return PackingVerdict(tuple(placed), 100.0 if (begin % 5, len(placed)) in ((0, 2), (2, 3)) else 1e9)

    hasty = replace(EFFORTS[1], rounds=1)
    assert [e.begin for e in cut(problem, hasty, judge)] == [i for first in range(0, 30, 5) for i in (first, first + 2)]
    assert len(asked) < 2 * 25
    assert sum(e.cycles for e in cut(problem, replace(hasty, repeats=0), judge)) >= 1e9


def test_an_op_that_finds_no_place() -> None:
    with pytest.raises(Error, match="finds no place on the 2 x 2 cores") as caught:
        cut(made_chain([found(candidate(3, 1, 10))], small(), 1), EFFORTS[1])
    assert caught.value.code == "E0502"


def test_cuts_of_few_epochs_are_moved_to_where_the_whole_run_is_shortest() -> None:
    """The judge knows nothing of epochs beside each other; a review says that the second one should begin with the ninth op."""
    problem = chain([64, 512, 2048] * 10, 4)
    timed: dict[tuple[int, ...], float] = {}

    def judge(turn: Turn, begin: int, placed: Sequence[Placed]) -> PackingVerdict:
        return PackingVerdict(tuple(placed), 1000.0 + len(placed))

    def review(epochs: Sequence[EpochRange]) -> list[EpochRange] | None:
        begins = tuple(epoch.begin for epoch in epochs)
        timed[begins] = 100.0 * abs(begins[1] - 8) + len(begins)
        return [replace(epoch, cycles=timed[begins] / len(begins)) for epoch in epochs]

    plain = tuple(epoch.begin for epoch in cut(problem, EFFORTS[1], judge))
    found = tuple(epoch.begin for epoch in cut(problem, EFFORTS[1], judge, review))
    assert 1 < len(plain) <= 4
    assert plain in timed
    assert timed[found] == min(timed.values()) < timed[plain]
    assert 1 < len(timed) <= EFFORTS[1].moves
    timed.clear()
    assert tuple(epoch.begin for epoch in cut(problem, replace(EFFORTS[1], moves=0), judge, review)) == plain
    assert not timed
