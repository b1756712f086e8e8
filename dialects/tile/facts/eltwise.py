"""Facts of elementwise ops: one function, a change of format, and fused regions of them."""

from __future__ import annotations

from typing import Any

from ttc.dialects.core.errors import Error
from ttc.dialects.core.shapes import Shape, broadcast_shapes
from ttc.dialects.tile.facts.base import STR, STRS, VALUES, Role, fact, optional


@fact(Role.ELEMENTWISE, {"fn": STR, "names": optional(STRS), "values": optional(VALUES)})
def map_(*xs: Shape, fn: str, names: tuple[str, ...] = (), values: tuple[Any, ...] = ()) -> Shape:
    """Return the broadcast of the operands.  Raises E0401, and E0402 if names and values differ in number."""
    if len(names) != len(values):
        raise Error("E0402", f"{len(names)} attribute names but {len(values)} values")
    if not xs:
        raise Error("E0401", f"'{fn}' has no operands")
    return broadcast_shapes(*xs)


@fact(Role.CONVERSION, {"to": optional(STR)})
def cast(x: Shape, *, to: str | None = None) -> Shape:
    """Return the shape of x."""
    return x


@fact(Role.ELEMENTWISE)
def eltwise(*xs: Shape) -> Shape:
    """Return the broadcast of the operands.  Raises E0401."""
    if not xs:
        raise Error("E0401", "an elementwise region has no operands")
    return broadcast_shapes(*xs)


@fact(Role.TERMINATOR)
def yield_(value: Shape) -> list[Shape]:
    """Return nothing: a region's last op has no result."""
    return []
