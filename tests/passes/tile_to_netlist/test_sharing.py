"""Cores shared out at one pace or at one price, and the time of all epochs from an op on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.passes.tile_to_netlist.made import candidate, chain, even, found, small
from ttc.dialects.core.machines.targets import load_target
from ttc.passes.tile_to_netlist.sharing import IMPOSSIBLE, paced, priced, thinned


def test_a_pace_takes_the_fewest_cores_that_keep_it() -> None:
    fronts = [even(1200, 4).front, even(600, 4).front]
    family = paced(fronts, 100)
    paces = sorted({c.busy for front in fronts for c in front})
    at = paces.index(400)
    assert [c.cores for c in family.chosen(0, 2, at)] == [3, 2]
    assert family.cores[0, 0] == IMPOSSIBLE  # 150 cycles are beyond the first op


def test_a_price_trades_cycles_for_cores() -> None:
    family = priced([even(1200, 4).front], 16)
    assert family.cores[0, 0] == 1
    assert family.cores[0, -1] == 4


def test_the_time_of_an_epoch_is_that_of_its_slowest_op() -> None:
    target = small()
    problem = chain([found(candidate(1, 1, 1000)), found(candidate(1, 2, 700))], target, 64)
    family = paced([node.found.front for node in problem.nodes], 8)
    times = family.times(problem, 0, 2)
    alone, both = times.min(axis=1)
    entry, rest = problem.rates.switch_of(1), 63 * (1000 + problem.rates.microbatch_cycles)
    assert alone == entry + 1000 + rest
    assert both == problem.rates.switch_of(3) + 1000 + 700 + rest
    assert problem.time(0, family.chosen(0, 2, -1)) == both


def test_ops_that_hand_on_parts_of_a_microbatch_work_at_the_same_time() -> None:
    """The first microbatch takes the slowest op, and what each other op needs for its first part: 1000 + 800 / 8."""
    nodes = [found(replace(candidate(1, 1, busy), parts=8)) for busy in (1000, 800)]
    problem = chain(nodes, small(), 1)
    family = paced([node.found.front for node in problem.nodes], 8)
    times = family.times(problem, 0, 2).min(axis=1)
    assert times[1] == problem.rates.switch_of(2) + 1000 + 800 / 8
    assert problem.time(0, family.chosen(0, 2, -1)) == times[1]


def test_too_many_cores_are_no_epoch() -> None:
    problem = chain([found(candidate(2, 2, 10))] * 2, small(), 4)
    family = paced([node.found.front for node in problem.nodes], 8)
    assert list(np.isfinite(family.times(problem, 0, 2)).any(axis=1)) == [True, False]


def test_thinned_keeps_the_ends() -> None:
    values = thinned(list(range(1, 1000)), 10)
    assert (values[0], values[-1]) == (1, 999)
    assert len(values) <= 10
    assert list(thinned([3, 5], 10)) == [3, 5]


def test_an_only_epoch_waits_for_the_programs_of_its_own_cores() -> None:
    target = replace(load_target("n150"), kernels="buda")
    problem = chain([found(candidate(1, 1, 1000), candidate(8, 8, 990)), found(candidate(1, 1, 700))], target, 1)
    family = paced([node.found.front for node in problem.nodes], 8)
    times, rates = family.times(problem, 0, 2), problem.rates
    assert rates.switch_of(2) < rates.switch_cycles
    assert times[1].min() == rates.switch_of(2) + 1700  # 63 cores more would save 10 cycles, and take far more to load
    assert times[0].min() == rates.switch_of(1) + 1000
