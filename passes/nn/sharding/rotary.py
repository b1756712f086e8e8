"""Rotary embeddings: chips divide the heads."""

from __future__ import annotations

from ttc.passes.nn.sharding import SHARDING
from ttc.passes.nn.sharding.op import DividedOp, Division


@SHARDING.rule("rotary_embedding")
def rotary_embedding(step: DividedOp) -> Division | None:
    """Divide every dimension but the last, whose halves meet."""
    split = step.splits[0]
    if split is None or split == len(step.shape) - 1 or any(other is not None for other in step.splits[1:]):
        return None
    others = tuple(step.alongside(index, split - len(step.shape)) for index in range(1, len(step.shapes)))
    return Division((split, *others), (split,))
