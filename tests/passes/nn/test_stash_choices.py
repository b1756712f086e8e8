"""Tests of passes/nn/stash_choices.py."""

from __future__ import annotations

import itertools

import pytest

from tests.passes.nn.stashes import BYTES, chain, stash_of
from ttc.passes.nn.stash_choices import by_segments, cheap, everything, within


@pytest.mark.parametrize("memory", [0, 1, 2, 3, 4])
def test_no_choice_within_the_memory_takes_fewer_flops(memory: int) -> None:
    stash = stash_of(chain(5))
    found = within(stash, memory * BYTES)
    assert found.stash_bytes <= memory * BYTES
    values = [y for op in stash.forward for y in op.results if y not in stash.free]
    every = (stash.choice(kept) for size in range(memory + 1) for kept in itertools.combinations(values, size))
    assert found.flops == min(one.flops for one in every if one.stash_bytes <= memory * BYTES)


def test_segments_keep_a_third_at_most_for_a_third_of_the_flops() -> None:
    stash = stash_of(chain(16))
    found = by_segments(stash)
    assert 0 < found.stash_bytes <= 0.34 * stash.choice(stash.read).stash_bytes
    assert found.flops <= stash.total_flops / 3


def test_cheap_ops_are_computed_again_from_products() -> None:
    """A tanh takes less than a byte of it is worth, a product more."""
    stash = stash_of(chain(4))
    assert {op.name for op in cheap(stash, 1.5).again} <= {"nn.tanh"}
    assert {op.name for op in cheap(stash, 1e6).again} == {"nn.tanh", "nn.matmul"}


def test_marked_ops_are_always_computed_again() -> None:
    stash = stash_of(chain(6, marked=range(2, 4)))
    found = everything(stash)
    assert len(stash.marked) == 4
    assert found.again <= stash.marked
    assert found.stash_bytes == 4 * BYTES, "of five: the border of the marked part is one of those that are kept"
