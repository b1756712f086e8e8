"""Facts of the borders between the device and the host."""

from __future__ import annotations

from ttc.dialects.core.shapes import Shape
from ttc.dialects.tile.facts.base import Role, fact


@fact(Role.MOVEMENT)
def to_host(x: Shape) -> Shape:
    """Return the shape of x."""
    return x


@fact(Role.MOVEMENT)
def from_host(x: Shape) -> Shape:
    """Return the shape of x."""
    return x
