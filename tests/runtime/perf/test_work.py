"""Stages that overlap, and primitives in sequence."""

import pytest

from ttc.runtime.perf.work import NOTHING, CoreWork, OpCycles, in_sequence, overlapped


def test_the_longest_stage_counts_and_equal_ones_a_little_more() -> None:
    assert overlapped(100.0, 10.0, 0.0) == pytest.approx(100.0, rel=1e-6)
    assert 100 < overlapped(100.0, 100.0) < 110
    assert overlapped(100.0, 100.0, exponent=1.0) == 200.0
    assert overlapped(0.0, 0.0) == 0.0


def test_primitives_in_sequence_add_up_and_their_pipes_overlap() -> None:
    one, two = OpCycles(10.0, 5.0, 5.0, 0.0, 12.0, 12.0), OpCycles(20.0, 5.0, 5.0, 90.0, 25.0, 90.0)
    found = in_sequence([one, two])
    assert found[:5] == (30.0, 10.0, 10.0, 90.0, 37.0)
    assert found.total == pytest.approx(90.0, rel=1e-3)
    assert found.limit == "pipes"
    assert in_sequence([one]) is one
    assert in_sequence([]) == NOTHING


def test_tiles_of_a_work() -> None:
    work = CoreWork("nop", ("Bfp8_b",), "Bfp8_b", 3, (2, 5), (1, 4))
    assert (work.blocks, work.ublock_tiles, work.tiles) == (30, 4, 120)
