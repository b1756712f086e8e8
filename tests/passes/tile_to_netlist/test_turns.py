"""By how much an epoch makes a run longer: alone, first, last, and beside the next one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ttc.dialects.core.machines.targets import load_target
from ttc.passes.tile_to_netlist.turns import Turn
from ttc.runtime.perf.rates import rates_of

AHEAD = rates_of(load_target("n150"))
RATES = replace(AHEAD, ahead=False)
MIDDLE = Turn(RATES, 8, first=False, last=False, overlap=1.0)
FILL, INTERVAL, CORES = 60_000.0, 10_000.0, 72
ENTRY = RATES.switch_of(CORES)
BODY = FILL + 7 * INTERVAL


def time(turn: Turn, fill: float = FILL, held: float = 0.0) -> float:
    return float(turn.time(fill, INTERVAL, CORES, held, 0.0))


def test_an_only_epoch_loads_and_runs() -> None:
    assert time(replace(MIDDLE, first=True, last=True)) == pytest.approx(ENTRY + BODY)
    assert time(replace(MIDDLE, first=True, last=True), held=500.0) == pytest.approx(ENTRY + 500 + BODY)


def test_the_last_epoch_loads_beside_the_one_before() -> None:
    assert time(replace(MIDDLE, last=True)) == BODY


def test_epochs_that_do_not_overlap_take_their_loading_too() -> None:
    for first, last in ((True, False), (False, False), (False, True)):
        assert time(replace(MIDDLE, overlap=0.0, first=first, last=last)) == pytest.approx(BODY + ENTRY)


def test_nothing_hides_the_first_loading() -> None:
    one = RATES.start_cycles + RATES.program_bytes / RATES.absorb_core
    assert time(replace(MIDDLE, first=True)) == pytest.approx(ENTRY + 8 * INTERVAL + one)


def test_a_core_that_is_through_goes_on() -> None:
    """All loading is over when the last core is free: eight intervals, and what one core loads."""
    one = RATES.start_cycles + RATES.program_bytes / RATES.absorb_core
    assert time(MIDDLE) == pytest.approx(8 * INTERVAL + one)
    assert time(replace(MIDDLE, overlap=0.5)) == pytest.approx((8 * INTERVAL + one + BODY + ENTRY) / 2)


def test_the_next_epoch_waits_for_its_first_microbatch_and_for_all_loads() -> None:
    assert time(MIDDLE, fill=200_000.0) == 200_000
    held = 300_000.0
    programs = CORES * RATES.program_cycles(1)
    one = RATES.start_cycles + RATES.program_bytes / RATES.absorb_core
    assert time(MIDDLE, held=held) == pytest.approx(9 * INTERVAL + one + programs + held - FILL)


def test_one_microbatch_follows_another() -> None:
    """The next epoch reads what this one ends with; its loading is hidden as far as there is time for it."""
    one = replace(MIDDLE, input_count=1)
    assert time(replace(one, overlap=0.0)) == pytest.approx(FILL + ENTRY)
    assert time(one) == FILL


def test_chips_in_turn_hide_what_the_others_compute_meanwhile() -> None:
    two, four = replace(MIDDLE, turns=2, input_count=1), replace(MIDDLE, turns=4, input_count=1)
    short, long = 0.5 * ENTRY, 4 * ENTRY
    found = two.time(np.array([short, long]), INTERVAL, CORES, 0.0, 0.0)
    np.testing.assert_allclose(found, [0.75 * ENTRY + RATES.eth_hop, long + RATES.eth_hop])
    assert time(four, fill=short) == pytest.approx(short + RATES.eth_hop)


def test_what_loads_ahead_is_hidden() -> None:
    """Cores go on after their start alone; an epoch is no shorter than what loads beside it."""
    middle, held = replace(MIDDLE, rates=AHEAD), 300_000.0
    programs = CORES * AHEAD.program_cycles(1) * AHEAD.own_part
    assert time(middle) == pytest.approx(8 * INTERVAL + AHEAD.start_cycles)
    assert time(middle, held=held) == pytest.approx(programs + held)
    assert time(replace(middle, overlap=0.0), held=held) == pytest.approx(BODY + AHEAD.start_cycles + programs + held)
    assert time(replace(middle, last=True), held=held) == BODY


def test_the_first_ops_begin_while_the_others_load() -> None:
    """In turn all is loaded when the last op, which begins an interval before the end of the fill, is due."""
    first = replace(MIDDLE, rates=AHEAD, first=True)
    one, programs = AHEAD.program_bytes / AHEAD.absorb_core, CORES * AHEAD.program_cycles(1) * AHEAD.own_part
    assert time(first) == pytest.approx(one + 8 * INTERVAL + 2 * AHEAD.start_cycles)
    entry = programs + 100_000.0 - (FILL - INTERVAL)
    assert time(replace(first, last=True), held=100_000.0) == pytest.approx(entry + AHEAD.start_cycles + BODY)


def test_loads_have_what_an_epoch_leaves_of_dram_while_it_runs() -> None:
    """A single microbatch that reads for a third of its way leaves two thirds, however long its slowest op takes."""
    one = replace(MIDDLE, rates=AHEAD, input_count=1)
    programs = CORES * AHEAD.program_cycles(1) * AHEAD.own_part
    found = one.time(FILL, INTERVAL, CORES, 100_000.0, FILL / 3)
    assert float(found) == pytest.approx((programs + 100_000) * 1.5)


def test_weights_are_read_before_results_are_there() -> None:
    """The part of an epoch that reads weights alone passes beside the one before, as far as epochs overlap."""
    one, lead = replace(MIDDLE, rates=AHEAD, input_count=1), 20_000.0
    whole, part = (float(one.time(FILL, INTERVAL, 8, 0.0, 0.0, lead=n)) for n in (0.0, lead))
    assert (whole, part) == (FILL, FILL - lead)
    assert float(replace(one, last=True).time(FILL, INTERVAL, 8, 0.0, 0.0, lead=lead)) == FILL - lead
    alone = replace(one, overlap=0.0)
    assert float(alone.time(FILL, INTERVAL, 8, 0.0, 0.0, lead=lead)) == float(alone.time(FILL, INTERVAL, 8, 0.0, 0.0))


def test_chips_in_turn_load_ahead() -> None:
    """Each has twice the time for an epoch with what it loads; weights are read before results are there."""
    two, hop = replace(MIDDLE, rates=AHEAD, input_count=1, turns=2), AHEAD.eth_hop
    assert float(two.time(FILL, INTERVAL, 8, 0.0, 0.0, lead=20_000.0)) == pytest.approx(FILL - 20_000 + hop)
    assert float(two.time(FILL, INTERVAL, 8, 0.0, 0.0, lead=50_000.0)) == pytest.approx((FILL + AHEAD.start_cycles) / 2 + hop)
    programs = CORES * AHEAD.program_cycles(1) * AHEAD.own_part
    assert float(two.time(FILL, INTERVAL, CORES, 0.0, 150_000.0)) == pytest.approx((programs + 150_000) / 2 + hop)


def test_arrays() -> None:
    found = MIDDLE.time(np.array([FILL, 200_000.0]), INTERVAL, np.array([CORES, CORES]), 0.0, 0.0)
    assert list(found) == [time(MIDDLE), 200_000]
