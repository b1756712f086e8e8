"""Shapes of ops that order elements."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.shapes import Shape, axis_in


def reverse_sequence(x: Shape, lengths: Shape, *, time_axis: int, batch_axis: int) -> Shape:
    """Return the shape of x.  Raises E0401, E0402, E0412."""
    if min(time_axis, batch_axis) < 0:
        raise Error("E0412", f"axes {time_axis} and {batch_axis} are counted from the front")
    if axis_in(time_axis, len(x)) == axis_in(batch_axis, len(x)):
        raise Error("E0402", f"axis {time_axis} is both that of time and that of the batch")
    if lengths != (x[batch_axis],):
        raise Error("E0401", f"lengths {list(lengths)} is not one number for each of {x[batch_axis]} sequences")
    return x
