"""Addresses: aligned, inside the channel, reused only when lifetimes are apart."""

from ttc.passes.netlist.memory import Channel, Request, place_all


def channels(count: int, limit: int = 1 << 20) -> list[Channel]:
    return [Channel(base=100, limit=limit, alignment=32) for _ in range(count)]


def test_blocks_alive_together_do_not_overlap():
    requests = [(Request(f"q{i}", 1000 + 37 * i, i % 5, i % 5 + 2), 3) for i in range(40)]
    found, failed = place_all(channels(4), requests)
    assert failed == []
    blocks = [(c, a, r) for r, _ in requests for c, a in found[r.name]]
    assert all(a % 32 == 0 and a >= 100 and a + r.size_bytes <= 1 << 20 for _, a, r in blocks)
    for i, (c1, a1, r1) in enumerate(blocks):
        for c2, a2, r2 in blocks[:i]:
            together = c1 == c2 and r1.first <= r2.last and r2.first <= r1.last
            assert not (together and a1 < a2 + r2.size_bytes and a2 < a1 + r1.size_bytes)


def test_an_address_is_used_again_after_its_first_holder_died():
    (channel,) = single = channels(1)
    found, _ = place_all(single, [(Request("a", 512, 0, 1), 1), (Request("b", 512, 2, 3), 1)])
    assert found["a"] == found["b"]
    assert channel.peak == 540


def test_what_does_not_fit_is_named():
    _, failed = place_all(channels(1, limit=4096), [(Request("large", 5000, 0, 1), 1), (Request("small", 64, 0, 1), 1)])
    assert failed == ["large"]


def test_buffers_spread_over_channels():
    found, _ = place_all(channels(6), [(Request("w", 64, 0, 9), 6)])
    assert {c for c, _ in found["w"]} == set(range(6))
