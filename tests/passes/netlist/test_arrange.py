"""Channels and addresses together: what does not fit one channel goes to another."""

from __future__ import annotations

import pytest

from ttc.dialects.core.numerics import DRAM_PLACEMENTS
from ttc.passes.netlist.arrange import ChannelMemory, arrange
from ttc.passes.netlist.channels import ChannelDemand

BASE = 96


def memory(channels: int, room: int, policy: str = "traffic", first_channel: int = 0) -> ChannelMemory:
    return ChannelMemory((BASE,) * channels, (BASE + room,) * channels, policy, first_channel)


@pytest.mark.parametrize("policy", DRAM_PLACEMENTS)
def test_buffers_alive_together_do_not_overlap(policy: str) -> None:
    demands = [ChannelDemand(f"q{i}", 992 + 32 * i, 3, i % 5, i % 5 + 2, ((i % 5, 64),)) for i in range(40)]
    found = arrange(demands, memory(4, 1 << 17, policy), 7)
    assert found.failed == []
    blocks = [(c, a, d) for d in demands for c, a in found.places[d.name]]
    assert all(a % 32 == 0 and BASE <= a and a + d.size_bytes <= BASE + (1 << 17) for _, a, d in blocks)
    for i, (c1, a1, d1) in enumerate(blocks):
        for c2, a2, d2 in blocks[:i]:
            together = c1 == c2 and d1.first <= d2.last and d2.first <= d1.last
            assert not (together and a1 < a2 + d2.size_bytes and a2 < a1 + d1.size_bytes)
    held = {(channel, h.start, h.end) for channel, ranges in found.held.items() for h in ranges}
    assert {(c, a) for c, a, _ in blocks} <= {(c, a) for c, start, end in held for a in range(start, end, 32)}


def test_buffers_of_a_queue_lie_one_after_another_in_a_channel() -> None:
    found = arrange([ChannelDemand("w", 64, 6, 0, 0)], memory(2, 1 << 12, "round_robin"), 1)
    assert found.places["w"] == ((0, 96), (1, 96), (0, 160), (1, 160), (0, 224), (1, 224))


def test_a_run_of_buffers_is_parted_where_only_pieces_fit() -> None:
    """Two buffers of `b` fit the two gaps under `a`, but not one behind the other."""
    a = [
        ChannelDemand("a0", 64, 1, 0, 0, channel=0),
        ChannelDemand("a1", 64, 1, 1, 1, channel=0),
        ChannelDemand("top", 128, 1, 0, 1, channel=0),
    ]
    found = arrange([*a, ChannelDemand("b", 64, 2, 2, 2, channel=0)], memory(1, 192), 3)
    assert found.failed == []
    assert len({address for _, address in found.places["b"]}) == 2


def test_what_does_not_fit_is_named() -> None:
    found = arrange([ChannelDemand("large", 4992, 1, 0, 1), ChannelDemand("small", 64, 1, 0, 1)], memory(1, 4096), 2)
    assert found.failed == ["large"]


def test_numbers_of_channels_start_where_the_memory_says() -> None:
    found = arrange([ChannelDemand("x", 64, 1, 0, 0)], memory(1, 4096, "greatest_capacity", 4), 1)
    assert found.places == {"x": ((4, BASE),)}


def test_fragments_send_buffers_to_another_channel() -> None:
    """By the bytes alive at one time channel 0 has room for all; where addresses do not work out, the other channel takes the rest."""
    demands = [ChannelDemand(f"q{i}", 32 * (1 + i % 7), 1, i % 9, i % 9 + (3 if i % 4 == 0 else 1)) for i in range(60)]
    tight = arrange(demands, memory(1, 1 << 16, "closest"), 13).held[0]
    peak = max(h.end for h in tight) - BASE
    found = arrange(demands, memory(2, peak - 32, "closest"), 13)
    assert found.failed == []
    assert all(h.end <= BASE + peak - 32 for held in found.held.values() for h in held)
