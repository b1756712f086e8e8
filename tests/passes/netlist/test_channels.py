"""Channels of buffers: by traffic and by rules of a name."""

from __future__ import annotations

from typing import Any

import pytest

from ttc.dialects.core.numerics import DRAM_PLACEMENTS
from ttc.passes.netlist.channels import ChannelDemand, Channels, Noc


def chosen(
    demands: list[ChannelDemand], policy: str, *, channels: int = 4, capacity: int = 1 << 20, epochs: int = 4
) -> list[list[int | None]]:
    """Channels of the buffers of each demand, in turn."""
    state = Channels((capacity,) * channels, epochs, policy)
    return [[state.choose(demand) for _ in range(demand.count)] for demand in demands]


def demand(name: str, count: int = 1, size: int = 64, first: int = 0, last: int = 3, **fields: Any) -> ChannelDemand:
    return ChannelDemand(name, size, count, first, last, **fields)  # pyright: ignore[reportArgumentType]


def test_round_robin_goes_on_where_it_stopped() -> None:
    assert chosen([demand("a", 3), demand("b", 3)], "round_robin") == [[0, 1, 2], [3, 0, 1]]


def test_flip_flop_takes_a_half_by_the_epoch_that_writes_and_all_for_what_none_writes() -> None:
    demands = [demand("even", 3, parity=0), demand("odd", 3, parity=1), demand("input", 5), demand("even_again", 1, parity=0)]
    assert chosen(demands, "round_robin_flip_flop") == [[0, 1, 0], [2, 3, 2], [0, 1, 2, 3, 0], [1]]


def test_flip_flop_of_a_single_channel() -> None:
    assert chosen([demand("even", 2, parity=0), demand("odd", 1, parity=1)], "round_robin_flip_flop", channels=1) == [[0, 0], [0]]


def test_greatest_capacity_looks_at_the_bytes_alive_together() -> None:
    demands = [demand("a", size=256, last=0), demand("b", size=64, last=0), demand("c", size=64, first=1), demand("d", 2, size=64, last=0)]
    assert chosen(demands, "greatest_capacity", channels=2) == [[0], [1], [0], [1, 1]]


def test_closest() -> None:
    assert chosen([demand("a", 2, hops=(9, 4, 2, 7)), demand("b", hops=(1, 4, 2, 7))], "closest") == [[2, 2], [0]]


def test_traffic_spreads_the_bytes_of_an_epoch() -> None:
    """Two small queues that are read often take other channels than a large one that is read in their epoch."""
    demands = [
        demand("large", 2, size=4096, traffic=((0, 4096),)),
        demand("busy", 2, size=64, traffic=((0, 64 * 256),)),
        demand("other", 2, size=64, traffic=((1, 64),)),
    ]
    large, busy, other = chosen(demands, "traffic")
    assert sorted([*large, *busy]) == [0, 1, 2, 3]
    assert len(set(other)) == 2


def test_traffic_prefers_the_near_channel_among_equals() -> None:
    assert chosen([demand("a", 4, traffic=((0, 64),), hops=(5, 1, 3, 2))], "traffic") == [[1, 3, 2, 0]]


@pytest.mark.parametrize("policy", DRAM_PLACEMENTS)
def test_full_channels_are_passed_over(policy: str) -> None:
    demands = [demand("a", 4, size=512), demand("b", 1, size=256), demand("c", 4, size=256), demand("d", 1, size=512, first=0)]
    found = chosen(demands, policy, capacity=768)
    assert sorted(channel for channel in found[0] if channel is not None) == [0, 1, 2, 3]
    assert [None in channels for channels in found] == [False, False, True, True]


def test_a_channel_that_is_asked_for_is_taken_or_none() -> None:
    asked = [demand("a", 2, size=512, channel=2, hops=(0, 1, 2, 3))]
    assert chosen(asked, "closest") == [[2, 2]]
    assert chosen(asked, "traffic", capacity=600) == [[2, None]]


def test_banned_channels() -> None:
    state = Channels((100, 100), 1, "greatest_capacity")
    assert state.choose(demand("a", last=0), frozenset({0})) == 1
    assert state.choose(demand("b", last=0), frozenset({0})) is None


def test_distances_follow_the_shorter_ring_to_the_nearest_node() -> None:
    noc = Noc((10, 12), (((0, 0), (0, 11)), ((5, 5),)))
    assert noc.hops(1, 1) == (2, 8)
    assert noc.hops(9, 11) == (1, 10)
    assert noc.hops(5, 5) == (10, 0)
