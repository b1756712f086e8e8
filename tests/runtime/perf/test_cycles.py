"""Cycles of a share of a tile op."""

import pytest

from ttc.dialects.core.plain.functions import TensorType
from ttc.runtime.perf.base import OpView, Share
from ttc.runtime.perf.cycles import beside, cycles, gathering, share_cycles
from ttc.runtime.perf.table import table
from ttc.runtime.perf.work import NOTHING, OpCycles

ROWS = TensorType((256, 1024), "Float16_b", "tiles(32, 32)")
SOFTMAX = OpView("softmax", {"axis": -1}, (ROWS,), ROWS, "HiFi3")


def test_gathering_overlaps_and_counts_as_unpacking() -> None:
    found = OpCycles(10.0, 5.0, 5.0, 0.0, 12.0, 12.0)
    assert beside(found, 0, "wormhole_b0") is found
    slow = beside(found, 28_000, "wormhole_b0")
    assert slow.unpack == 28_000 / table("wormhole_b0")["gather"] == pytest.approx(slow.core, rel=1e-6)
    assert (slow.math, slow.pack, slow.pipes) == (10.0, 5.0, 0.0)
    assert beside(NOTHING, 28_000, "blackhole").core == slow.unpack / 2


def test_whole_rows_that_are_held_are_not_read_again() -> None:
    held, again = Share(1, 8, 32, (1, 8)), Share(1, 8, 32, (1, 8), reread=True)
    assert gathering(SOFTMAX, held) == 0
    assert gathering(SOFTMAX, again) == 3 * 8 * 32 * 2080
    assert cycles(SOFTMAX, held, "wormhole_b0") == int(share_cycles(SOFTMAX, held, "wormhole_b0").core)


def test_more_of_the_result_never_costs_less() -> None:
    spent = [cycles(SOFTMAX, Share(1, rows, 32, (1, 8)), "wormhole_b0") for rows in range(1, 20)]
    assert spent == sorted(spent)
    assert spent[0] > 0
