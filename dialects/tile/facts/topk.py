"""Facts of the largest numbers of rows."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.shapes import Shape
from ttc.dialects.tile.facts.base import BOOL, INT, STR, Role, fact

MAX_ROW = 1 << 16
"""Bound on the columns that one core orders."""


@fact(Role.SORT, {"k": INT, "sort": STR, "sorted_runs": BOOL, "cores": INT, "width": INT})
def topk(values: Shape, indices: Shape, *, k: int, sort: str, sorted_runs: bool, cores: int, width: int) -> Shape:
    """Return [..., cores * width] for values and indices of [..., cores * size].  Raises E0401, E0402."""
    if values != indices or not values or cores < 1 or values[-1] % cores:
        raise Error("E0401", f"{list(values)} and {list(indices)} have no rows for {cores} cores")
    size = values[-1] // cores
    runs = size // k if k > 0 else 0
    powers = k > 0 and k & (k - 1) == 0 and runs > 0 and runs & (runs - 1) == 0 and size == k * runs
    if sort not in ("max", "argmax") or not powers or width < k or size > MAX_ROW:
        raise Error("E0402", f"rows of {size} do not fall into runs of {k} by powers of two, or there is no order '{sort}'")
    return (*values[:-1], cores * width)
