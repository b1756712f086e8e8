"""Tests of passes/nn/stash.py."""

from __future__ import annotations

from tests.passes.nn.stashes import BYTES, chain, stash_of
from ttc.dialects.core.ir.verification import verify


def test_gradients_read_each_tanh_but_the_result() -> None:
    stash = stash_of(chain(4))
    assert [value.owner.name for value in stash.read] == ["nn.tanh"] * 3  # pyright: ignore[reportAttributeAccessIssue]
    assert stash.choice(stash.read).stash_bytes == 3 * BYTES
    assert stash.choice(stash.read).flops == 0


def test_what_is_not_kept_is_computed_again_from_what_is() -> None:
    stash = stash_of(chain(4))
    choice = stash.choice([list(stash.read)[1]])
    assert choice.stash_bytes == BYTES
    assert sorted(op.name for op in choice.again) == ["nn.matmul", "nn.matmul", "nn.tanh", "nn.tanh"]


def test_ops_are_computed_again_right_before_the_gradient_that_needs_them() -> None:
    unit = chain(3)
    stash = stash_of(unit)
    block = stash.backward[0].parent
    assert block is not None
    stash.replay(stash.choice(()))
    verify(unit.module)
    names = [op.name for op in block.ops]
    assert names.count("nn.tanh") == 5
    again = [i for i, name in enumerate(names) if name == "nn.tanh"][3:]
    assert min(again) > names.index("nn.sub"), "the last tanh's own gradient comes first: it reads the result"
