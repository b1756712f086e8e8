"""Figures of memory use."""

from dataclasses import replace

import pytest

from tests.dialects.netlist.conftest import BASE, HEADER, TILE_BYTES
from ttc.dialects.netlist.model import Netlist
from ttc.dialects.netlist.occupancy import ChannelUse, HeldBytes, align, most_alive, occupancy, use_of


def test_most_alive() -> None:
    assert most_alive([HeldBytes(0, 10, 0, 1), HeldBytes(10, 15, 1, 2), HeldBytes(0, 12, 2, 2)]) == 17
    assert most_alive([]) == 0


def test_align() -> None:
    assert [align(n, 32) for n in (0, 1, 32, 33)] == [0, 32, 32, 64]


def test_peak_bound_and_fragmentation() -> None:
    """A hole under a range counts for the peak alone; channels peak at different times."""
    use = use_of(3, {0: [HeldBytes(100, 150, 0, 0), HeldBytes(200, 250, 0, 0)], 2: [HeldBytes(100, 150, 1, 1)]}, range(3), 100, 1000)
    assert use.channels == (ChannelUse(0, 150, 100), ChannelUse(1, 0, 0), ChannelUse(2, 50, 50))
    assert (use.chip, use.peak_bytes, use.bound_bytes, use.room_bytes) == (3, 200, 100, 1000)
    assert [c.fragmentation for c in use.channels] == [pytest.approx(1 / 3), 0.0, 0.0]
    assert use.fragmentation == 0.5


def test_of_a_netlist(netlist: Netlist) -> None:
    """The input and the output share bytes; the edge, the parameter and the state have their own."""
    slot = HEADER + 4 * TILE_BYTES
    (use,) = occupancy(netlist)
    assert [c.peak_bytes for c in use.channels] == [8 * slot] * 2
    assert use.bound_bytes == 4 * (2 * slot + 2 * (HEADER + 2 * TILE_BYTES))
    assert use.room_bytes == 2 * ((1 << 30) - BASE)


def test_each_chip_of_its_own(netlist: Netlist) -> None:
    queues = netlist.queues | {"w": replace(netlist.queues["w"], chip=1)}
    first, second = occupancy(replace(netlist, queues=queues))
    assert (first.chip, second.chip) == (0, 1)
    assert second.bound_bytes == 4 * (HEADER + 2 * TILE_BYTES)
