"""Pieces of tensors: dimensions that are not cut stay divided."""

from __future__ import annotations

from typing import cast

from ttc.passes.nn.sharding import SHARDING
from ttc.passes.nn.sharding.op import DividedOp, Division
from ttc.passes.nn.sharding.shape import parted


@SHARDING.rule("slice")
def slice_(step: DividedOp) -> Division | None:
    """Keep divided a dimension that is taken whole."""
    split = step.splits[0]
    starts, steps = (cast("tuple[int, ...]", step.work.attrs[name]) for name in ("starts", "steps"))
    if split is None or (starts[split], steps[split], step.shape[split]) != (0, 1, step.shapes[0][split]):
        return None
    return Division((split,), (split,), {"sizes": parted(step.shape, split, step.chips)})


@SHARDING.rule("split")
def split(step: DividedOp) -> Division | None:
    """Keep divided a dimension that is not split."""
    place = step.splits[0]
    if place is None or place == cast("int", step.work.attrs["axis"]) % len(step.shapes[0]):
        return None
    return Division((place,), (place,) * len(step.work.results))


@SHARDING.rule("concat")
def concat(step: DividedOp) -> Division | None:
    """Keep divided a dimension along which all operands are divided, and not joined."""
    places = {place for place in step.splits if place is not None}
    if len(places) != 1 or cast("int", step.work.attrs["axis"]) % len(step.shape) in places:
        return None
    (place,) = places
    return Division((place,) * len(step.shapes), (place,))
