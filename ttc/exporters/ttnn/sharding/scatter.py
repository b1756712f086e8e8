"""Rows that are written into variables: chips divide the heads of caches."""

from __future__ import annotations

from ttc.exporters.ttnn.caches import is_rows
from ttc.exporters.ttnn.sharding import SHARDING
from ttc.exporters.ttnn.sharding.op import DividedOp, Division

HEADS = 2
"""The dimension of heads in [b, places, heads, width]."""


@SHARDING.rule("scatter_nd")
def scatter_nd(step: DividedOp) -> Division | None:
    """Divide a cache as the rows that are written."""
    if not is_rows(step.work) or step.splits != (None, None, HEADS) or not step.variables[0]:
        return None
    return Division((HEADS, None, HEADS), (HEADS,))
