"""Facts of softmax and its logarithm."""

from __future__ import annotations

from ttc.dialects.core.shapes import Shape, axis_in
from ttc.dialects.tile.facts.base import INT, Role, fact
from ttc.dialects.tile.facts.steps import steps

_POWERS = ("top = max x", "low = sub x top", "powers = exp low", "total = sum powers")


@fact(Role.NORMALIZATION, {"axis": INT}, as_nn=True, passes=3, steps=steps(*_POWERS, "part = reciprocal total", "y = mul powers part"))
def softmax(x: Shape, *, axis: int) -> Shape:
    """Return the shape of x.  Raises E0412."""
    axis_in(axis, len(x))
    return x


@fact(Role.NORMALIZATION, {"axis": INT}, as_nn=True, passes=3, steps=steps(*_POWERS, "size = log total", "y = sub low size"))
def log_softmax(x: Shape, *, axis: int) -> Shape:
    """Return the shape of x.  Raises E0412."""
    return softmax(x, axis=axis)
