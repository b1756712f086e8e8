"""Arenas: no two live buffers share bytes, and little is lost."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ttc.runtime.engines.native.graph.tensors import PlanBuffer
from ttc.runtime.engines.native.planning import arena as module
from ttc.runtime.engines.native.planning.arena import MAX_PAIRS, lower_bound, plan_arena

LIVES = st.lists(st.tuples(st.integers(1, 5000), st.integers(0, 30), st.integers(0, 6)), min_size=1, max_size=40)


@settings(max_examples=300)
@given(LIVES, st.sampled_from([0, MAX_PAIRS]))
def test_buffers_alive_together_are_apart(lives: list[tuple[int, int, int]], most: int):
    lifetimes = {PlanBuffer(size): (first, first + length) for size, first, length in lives}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_PAIRS", most)
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
    lifetimes = {PlanBuffer(1 << 20): (step, step + 1) for step in range(50)}
    assert plan_arena(lifetimes).size_bytes == lower_bound(lifetimes) == 2 << 20


@settings(max_examples=200)
@given(LIVES)
def test_what_is_looked_at_is_what_is_alive(lives: list[tuple[int, int, int]]):
    placed = module._Placed(max(first + length for _, first, length in lives) + 1)
    for number, (size, first, length) in enumerate(lives):
        others = [(i, size) for i, (size, born, life) in enumerate(lives[:number]) if born <= first + length and first <= born + life]
        assert sorted(placed.alive(first, first + length)) == others
        placed.add(first, first + length, (number, size))


@pytest.mark.parametrize("together", [False, True])
def test_plans_of_many_buffers_look_at_few_of_them(together: bool, monkeypatch: pytest.MonkeyPatch):
    """A chain, in which two are alive at a time, and buffers that are all alive at the end."""
    looked = 0

    def counted(taken: Sequence[tuple[int, int]], size_bytes: int) -> int:
        nonlocal looked
        looked += len(taken)
        return lowest(taken, size_bytes)

    lowest = module._lowest
    monkeypatch.setattr(module, "_lowest", counted)
    count = 6000
    lifetimes = {PlanBuffer(640): (step, count if together else step + 1) for step in range(count)}
    arena = plan_arena(lifetimes)
    assert arena.size_bytes == (count if together else 2) * 640 == lower_bound(lifetimes)
    assert looked <= 2 * count
