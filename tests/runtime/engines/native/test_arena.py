"""Arenas: no two live buffers share bytes, and little is lost."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ttc.runtime.engines.native.arena import lower_bound, plan_arena
from ttc.runtime.engines.native.tensors import Buffer

LIVES = st.lists(st.tuples(st.integers(1, 5000), st.integers(0, 30), st.integers(0, 6)), min_size=1, max_size=40)


@settings(max_examples=200)
@given(LIVES)
def test_buffers_alive_together_are_apart(lives: list[tuple[int, int, int]]):
    lifetimes = {Buffer(size): (first, first + length) for size, first, length in lives}
    arena = plan_arena(lifetimes)
    assert arena.size_bytes >= lower_bound(lifetimes)
    placed = [(b, arena.offsets[b], arena.offsets[b] + b.size_bytes, *lifetimes[b]) for b in lifetimes]
    for a, start, end, born, died in placed:
        assert start % 64 == 0
        assert end <= arena.size_bytes
        for b, other, behind, first, last in placed:
            if a is not b and born <= last and first <= died:
                assert end <= other or behind <= start


def test_a_chain_takes_two_buffers():
    lifetimes = {Buffer(1 << 20): (step, step + 1) for step in range(50)}
    assert plan_arena(lifetimes).size_bytes == lower_bound(lifetimes) == 2 << 20
