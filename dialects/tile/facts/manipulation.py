"""Facts of what Buda netlists do to an input before an op reads it, and to a result."""

from __future__ import annotations

from math import prod

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.shapes import Shape, axis_in, tiles_in
from ttc.dialects.core.tiling.arrays import MAX_ELEMENTS
from ttc.dialects.tile.facts.base import INT, INTS, STR, Ints, Role, fact


@fact(Role.VIEW, {"axis": INT, "n": INT}, in_transit=True)
def repeat(x: Shape, *, axis: int, n: int) -> Shape:
    """Return the shape of x, n times as large along the axis.  Raises E0402, E0412."""
    at = axis_in(axis, len(x))
    if n < 1 or prod(x) * n > MAX_ELEMENTS:
        raise Error("E0402", f"{list(x)} cannot be repeated {n:,} times")
    return (*x[:at], x[at] * n, *x[at + 1 :])


@fact(Role.VIEW, {"dim": STR, "tile": INTS}, in_transit=True)
def tile_broadcast(x: Shape, *, dim: str, tile: Ints) -> Shape:
    """Return the shape of x.  Raises E0401, E0402."""
    if dim not in ("r", "c", "rc"):
        raise Error("E0402", f"a tile is broadcast along r, c or rc, not '{dim}'")
    tiles_in(x, tile)
    return x


@fact(Role.MOVEMENT, {"source": INTS, "kept": INTS, "target": INTS}, in_transit=True)
def retile(x: Shape, *, source: Ints, kept: Ints, target: Ints) -> Shape:
    """Return the shape of as many tiles of other sides.  Raises E0401, E0402."""
    rows, columns = tiles_in(x, source)
    if not len(kept) == len(target) == 2 or any(not 1 <= k <= min(s, t) for k, s, t in zip(kept, source, target, strict=True)):
        raise Error("E0402", f"{list(kept)} elements do not fit tiles of {list(source)} and {list(target)}")
    return (*x[:-2], rows * target[0], columns * target[1])


@fact(Role.CONVERSION, {"to": STR, "rounding": STR}, in_transit=True)
def adjust(x: Shape, *, to: str, rounding: str) -> Shape:
    """Return the shape of x.  Raises E0402, and E0607 for a format that does not exist."""
    format_named(to)
    if rounding not in ("rne", "truncate"):
        raise Error("E0402", f"there is no rounding '{rounding}'")
    return x
