"""Norms: chips divide what is in front of the elements that are normalized together."""

from __future__ import annotations

from typing import cast

from ttc.passes.nn.sharding import SHARDING
from ttc.passes.nn.sharding.op import DividedOp, Division


@SHARDING.rule("layer_norm", "rms_norm")
def norm(step: DividedOp) -> Division | None:
    """Keep divided a dimension in front of the axis; scales and shifts are every chip's."""
    return _in_front(step)


@SHARDING.rule("softmax", "log_softmax")
def softmax(step: DividedOp) -> Division | None:
    """Keep divided a dimension other than the axis."""
    split, axis = step.splits[0], cast("int", step.work.attrs["axis"]) % len(step.shape)
    return None if split is None or split == axis else Division((split,), (split,))


def _in_front(step: DividedOp) -> Division | None:
    split, axis = step.splits[0], cast("int", step.work.attrs["axis"]) % len(step.shape)
    if split is None and step.by_rows and step.may_start and axis == len(step.shape) - 1:
        return step.rows()
    if split is None or split >= axis:
        return None
    return Division((split, *(None for _ in step.shapes[1:])), (split,))
