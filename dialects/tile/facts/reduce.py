"""Facts of reductions, places of extremes, cumulative sums and products."""

from __future__ import annotations

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.shapes import Shape, axes_in
from ttc.dialects.nn.shapes import reduce as shared
from ttc.dialects.tile.facts.base import BOOL, INT, INTS, STR, Ints, Role, fact, rows_fact

REDUCTIONS = ("sum", "mean", "max", "min", "prod")
_ARG = {"axis": INT, "keepdims": BOOL, "select_last": BOOL}
_CUMULATIVE = {"axis": INT, "exclusive": BOOL, "reverse": BOOL}


@fact(Role.REDUCTION, {"fn": STR, "axes": INTS, "keepdims": BOOL})
def reduce(x: Shape, *, fn: str, axes: Ints, keepdims: bool) -> Shape:
    """Return the shape of x without the axes, or with size 1 there.  Raises E0402, E0412."""
    if fn not in REDUCTIONS:
        raise Error("E0402", f"there is no reduction '{fn}'", hint=nearest(fn, REDUCTIONS))
    return shared.reduced_shape(x, axes_in(axes, len(x)), keepdims)


rows_fact(Role.REDUCTION, _ARG)(shared.argmax)
rows_fact(Role.REDUCTION, _ARG)(shared.argmin)
rows_fact(Role.SCAN, _CUMULATIVE)(shared.cumsum)
rows_fact(Role.SCAN, _CUMULATIVE)(shared.cumprod)
