"""Facts of ops that order elements."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.shapes import Shape, axis_in
from ttc.dialects.nn.shapes import sort
from ttc.dialects.tile.facts.base import BOOL, INT, Role, fact, rows_fact


@fact(Role.SORT, {"k": INT, "axis": INT, "largest": BOOL}, rows_only=True)
def order(x: Shape, *, k: int, axis: int, largest: bool) -> Shape:
    """Return the shape of x, of size k along the axis.  Raises E0402, E0412."""
    place = axis_in(axis, len(x))
    if not 0 <= k <= x[place]:
        raise Error("E0402", f"there are no {k} elements along axis {axis} of {list(x)}")
    return (*x[:place], k, *x[place + 1 :])


rows_fact(Role.GATHER, {"time_axis": INT, "batch_axis": INT})(sort.reverse_sequence)
