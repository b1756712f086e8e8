"""Packing an epoch: alternatives, spare cores, relief for ops whose L1 is too small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.passes.tile_to_netlist.made import candidate, chain, even, found, small
from ttc.passes.tile_to_netlist.forks import Shortage
from ttc.passes.tile_to_netlist.packer import EFFORTS, Packer, PackingVerdict, Placed
from ttc.passes.tile_to_netlist.problem import Problem
from ttc.passes.tile_to_netlist.sharing import paced
from ttc.passes.tile_to_netlist.turns import Turn


def packer(problem: Problem, judge=None, effort: int = 1) -> Packer:
    return Packer(problem, EFFORTS[effort], [paced([n.found.front for n in problem.nodes], 64)], judge)


def test_another_shape_as_fast_is_taken_where_the_first_does_not_fit() -> None:
    """1 x 3 lies on no grid of 2 x 2 beside a core, 2 x 1 does."""
    wide = found(candidate(1, 3, 100), candidate(2, 1, 100))
    verdict = packer(chain([wide, found(candidate(2, 1, 100))], small(), 4)).settle(0, 2)
    assert verdict is not None
    assert [(op.place.rows, op.place.cols) for op in verdict.ops] == [(2, 1), (2, 1)]


def test_spare_cores_go_to_the_slowest_op() -> None:
    problem = chain([even(900, 3), found(candidate(1, 1, 890))], small(), 64)
    verdict = packer(problem).settle(0, 2)
    assert verdict is not None
    assert [op.candidate.cores for op in verdict.ops] == [2, 1]


def test_what_finds_no_place() -> None:
    assert packer(chain([found(candidate(2, 2, 1)), found(candidate(1, 1, 1))], small(), 1)).settle(0, 2) is None


def test_an_op_short_of_l1_gets_more_cores() -> None:
    """The judge lets the second op pass on two cores alone; on one it is slow for want of room."""

    def judge(turn: Turn, begin: int, placed: Sequence[Placed]) -> PackingVerdict:
        short = placed[1].candidate.cores < 2
        return PackingVerdict(tuple(placed), 9000.0 if short else 1000.0, (Shortage(1, 1 << 20),) if short else ())

    problem = chain([found(candidate(1, 2, 500)), found(candidate(1, 1, 100), candidate(1, 2, 50))], small(), 64)
    verdict = packer(problem, judge).settle(0, 2)
    assert verdict is not None
    assert (verdict.cycles, [op.candidate.cores for op in verdict.ops]) == (1000.0, [2, 2])


def test_ops_trade_cores_where_chips_divide_tensors() -> None:
    """The quick op is left with fewer of the four cores than its share by pace, the slow one has three."""

    def judge(turn: Turn, begin: int, placed: Sequence[Placed]) -> PackingVerdict:
        return PackingVerdict(tuple(placed), float(sum(entry.candidate.busy for entry in placed)))

    whole = chain([even(12_000_000, 3), found(candidate(1, 1, 110), candidate(1, 2, 55))], small(1, 4), 1)
    cores: dict[bool, list[int]] = {}
    for divided in (False, True):
        found_packer = packer(replace(whole, divided=divided), judge)
        placed = found_packer.attempt(0, [whole.nodes[0].found.front[1], whole.nodes[1].found.front[1]])
        assert placed is not None
        cores[divided] = [entry.candidate.cores for entry in found_packer.traded(0, found_packer.judged(0, placed)).ops]
    assert cores == {False: [2, 2], True: [3, 1]}
