"""Epochs one after another: cores that are free first get the ops that begin first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.netlist.model import Grid
from ttc.passes.tile_to_netlist.following import Cores, EpochTiming, LyingEpoch, following
from ttc.passes.tile_to_netlist.limits import PlacementLimits
from ttc.runtime.perf.loading import LoadJob
from ttc.runtime.perf.rates import rates_of

RATES = rates_of(load_target("n150"))
LOAD = LoadJob(0.0, 2, 1000.0, 4000.0)
READY = RATES.start_cycles + LOAD.least


def pipeline(*places: Grid, count: int = 8, busy: float = 10_000.0, step: float = 50_000.0) -> LyingEpoch:
    """Ops of which each begins a step after the one before it."""
    begins = tuple(step * i for i in range(len(places)))
    ends = tuple(begin + count * busy for begin in begins)
    jobs = tuple(replace(LOAD, cores=place.rows * place.cols) for place in places)
    entries, lasts = tuple(begin + busy for begin in begins), (busy,) * len(places)
    timing = EpochTiming(begins, ends, jobs, begins[-1] + busy, ends[-1], 0.0, entries, ends, lasts)
    return LyingEpoch(timing, places, tuple(PlacementLimits() for _ in places), ((),) * len(places))


ROWS = pipeline(Grid(0, 0, 1, 2), Grid(1, 0, 1, 2))


def test_the_first_op_takes_the_cores_that_are_free_first() -> None:
    upside_down = replace(ROWS, places=ROWS.places[::-1])
    (first, _), (second, cycles) = following([ROWS, upside_down], (2, 2), RATES)
    assert first == second == ROWS.places
    # the second epoch begins when the first op's cores are through and loaded, 80,000 cycles after that op began
    assert cycles == pytest.approx(80_000 + READY)


def test_what_is_read_must_be_written() -> None:
    """With one microbatch the second epoch waits for the end of the first, however early its cores are free."""
    one = pipeline(Grid(0, 0, 1, 2), Grid(1, 0, 1, 2), count=1)
    reader = replace(one, reads=((1,), ()))  # the first op reads what the last one before it makes
    (_, first), (_, second) = following([one, reader], (2, 2), RATES)
    assert first == pytest.approx(READY + one.timing.cycles)
    assert second == pytest.approx(one.timing.cycles)


def test_what_comes_from_other_chips_comes_later() -> None:
    one = pipeline(Grid(0, 0, 1, 2), Grid(1, 0, 1, 2), count=1)
    reader = replace(one, reads=((1,), ()))
    across = replace(reader, timing=replace(reader.timing, crossing=700.0))
    (_, _), (_, near) = following([one, reader], (2, 2), RATES)
    (_, _), (_, far) = following([one, across], (2, 2), RATES)
    assert far == pytest.approx(near + 700.0)
    (_, _), (_, nothing) = following([one, replace(across, reads=((), ()))], (2, 2), RATES)
    assert nothing < near  # what reads nothing of another epoch waits for no chip


def test_entries_that_come_late_are_read_with_every_interval() -> None:
    """The reader could end its microbatches before the last entry is there; it takes them later, and nothing waits for it."""
    writer, reader = pipeline(Grid(0, 0, 1, 2)), pipeline(Grid(1, 0, 1, 1), Grid(1, 1, 1, 1), busy=2000.0, step=1000.0)
    reader = replace(reader, reads=((1,), ()))
    hasty = replace(reader.timing, paced=reader.timing.ends)
    late = replace(hasty, ends=hasty.paced, paced=tuple(end + 40_000.0 for end in hasty.paced), cycles=hasty.cycles + 40_000.0)
    (_, _), (_, first) = following([writer, replace(reader, timing=hasty)], (2, 2), RATES)
    (_, _), (_, second) = following([writer, replace(reader, timing=late)], (2, 2), RATES)
    last = 80_000.0  # when the writer's last entry is there
    assert first == pytest.approx(last - (hasty.ends[0] - 2000.0) + hasty.cycles - last)
    assert second == pytest.approx(first)


def test_an_epoch_goes_where_nothing_runs() -> None:
    single = pipeline(Grid(0, 0, 1, 2))
    places = [where for where, _ in following([single, single], (2, 2), RATES)]
    assert {core for where in places for place in where for core in place.cores()} == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_rules_hold() -> None:
    """An op stays where it is asked to start, and upright where that is asked for."""
    single = pipeline(Grid(0, 0, 1, 2))
    fixed = replace(single, limits=(PlacementLimits(start=(0, 0)),))
    assert [where for where, _ in following([single, fixed], (2, 2), RATES)][1] == (Grid(0, 0, 1, 2),)
    upright = replace(single, limits=(PlacementLimits(transposed=False),))
    for where, _ in following([upright] * 3, (3, 2), RATES):
        assert not where[0].transposed


def test_sizes_stay_and_nothing_overlaps() -> None:
    shapes = (Grid(0, 0, 2, 3), Grid(0, 3, 3, 1), Grid(2, 0, 1, 2), Grid(2, 2, 1, 1))
    epochs = [pipeline(*shapes), pipeline(*shapes, step=1000.0), pipeline(*shapes, busy=3000.0)]
    for epoch, (where, _) in zip(epochs, following(epochs, (3, 4), RATES), strict=True):
        assert [(place.rows, place.cols) for place in where] == [(place.rows, place.cols) for place in epoch.places]
        used = [core for place in where for core in place.cores()]
        assert len(used) == len(set(used)) == 12


def test_cores_that_are_free_soon_are_left_to_ops_that_need_them_soon() -> None:
    """An op that begins late gets cores that are free just in time, though others are free sooner.

    By the order of begins the first op, which needs the whole of a row, else finds both rows half taken.
    """
    before = pipeline(Grid(0, 0, 1, 2), Grid(1, 0, 1, 1), Grid(1, 1, 1, 1), step=30_000.0)
    ends = (80_000.0, 80_000.0, 150_000.0)
    timing = replace(before.timing, begins=(1000.0, 0.0, 70_000.0), ends=ends, fill=80_000.0, cycles=150_000.0, paced=ends)
    after = replace(before, timing=timing)
    (_, _), (places, cycles) = following([before, after], (2, 2), RATES)
    assert places[2] == Grid(1, 1, 1, 1)  # free last
    assert {core for place in places for core in place.cores()} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert cycles < 150_000


@pytest.mark.parametrize("seed", range(6))
def test_places_are_never_worse_than_the_quick_ways(seed: int) -> None:
    draw = np.random.default_rng(seed)
    shapes = (Grid(0, 0, 1, 4), Grid(1, 0, 2, 2), Grid(1, 2, 1, 2), Grid(2, 2, 1, 1), Grid(2, 3, 1, 1))
    cores = Cores((3, 4), RATES.start_cycles)
    for _ in range(5):
        epoch = pipeline(*shapes, busy=float(draw.uniform(2000, 9000)), step=float(draw.uniform(500, 20_000)))
        quick = min(cores.loaded(epoch.timing, places) for places in cores.ways(epoch))
        found = cores.best(epoch)
        used = [core for place in found for core in place.cores()]
        assert len(set(used)) == len(used) == 12
        assert cores.loaded(epoch.timing, found) <= quick
        cores.take(epoch, found)
