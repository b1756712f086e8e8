"""Rows that are written into variables: chips divide the heads of caches."""

from __future__ import annotations

from ttc.dialects.core.plain.functions import Work
from ttc.passes.nn.sharding import SHARDING
from ttc.passes.nn.sharding.op import DividedOp, Division

HEADS = 2
"""The dimension of heads in [b, places, heads, width]."""


def is_rows(work: Work) -> bool:
    """Return whether an op puts rows [b, n, heads, width] where pairs of indices say in a tensor [b, places, heads, width]."""
    if work.op != "nn.scatter_nd" or work.attrs["reduction"] != "none":
        return False
    shape = work.results[0].shape
    return len(shape) == 4 and 0 not in shape


@SHARDING.rule("scatter_nd")
def scatter_nd(step: DividedOp) -> Division | None:
    """Divide a cache as the rows that are written."""
    if not is_rows(step.work) or step.splits != (None, None, HEADS) or not step.variables[0]:
        return None
    return Division((HEADS, None, HEADS), (HEADS,))
