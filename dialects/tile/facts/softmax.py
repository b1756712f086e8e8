"""Facts of softmax and its logarithm."""

from __future__ import annotations

from ttc.dialects.core.shapes import Shape, axis_in
from ttc.dialects.tile.facts.base import INT, Role, fact


@fact(Role.NORMALIZATION, {"axis": INT}, as_nn=True, passes=3)
def softmax(x: Shape, *, axis: int) -> Shape:
    """Return the shape of x.  Raises E0412."""
    axis_in(axis, len(x))
    return x


@fact(Role.NORMALIZATION, {"axis": INT}, as_nn=True, passes=3)
def log_softmax(x: Shape, *, axis: int) -> Shape:
    """Return the shape of x.  Raises E0412."""
    return softmax(x, axis=axis)
