"""Shapes of ops that write where an index tensor says."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.shapes import Shape, axis_in
from ttc.dialects.nn.shapes.index import require_not_larger

REDUCTIONS = ("none", "add", "mul", "max", "min")


def scatter_elements(x: Shape, indices: Shape, updates: Shape, *, axis: int, reduction: str) -> Shape:
    """Return the shape of x.  Raises E0401, E0402, E0412."""
    place = axis_in(axis, len(x))
    _require_reduction(reduction)
    if len(indices) != len(x) or indices != updates:
        raise Error("E0401", f"indices {list(indices)} and updates {list(updates)} do not fit {list(x)}")
    require_not_larger(indices, x, place)
    return x


def scatter_nd(x: Shape, indices: Shape, updates: Shape, *, reduction: str) -> Shape:
    """Return the shape of x.  Raises E0401, E0402."""
    _require_reduction(reduction)
    depth = indices[-1] if indices else 0
    if not 1 <= depth <= len(x):
        raise Error("E0401", f"indices {list(indices)} do not hold tuples for {list(x)}")
    wanted = (*indices[:-1], *x[depth:])
    if len(updates) != len(wanted) or any(a != b and min(a, b) >= 0 for a, b in zip(updates, wanted, strict=True)):
        raise Error("E0401", f"updates {list(updates)} are not of shape {list(wanted)}")
    return x


def _require_reduction(reduction: str) -> None:
    """Raises E0402."""
    if reduction not in REDUCTIONS:
        raise Error("E0402", f"reduction is one of {', '.join(REDUCTIONS)}, not '{reduction}'")
