"""Shapes of functions of matrices."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.shapes import Shape


def det(x: Shape) -> Shape:
    """Return [...] for x[..., m, m].  Raises E0401."""
    if len(x) < 2 or x[-1] != x[-2]:
        raise Error("E0401", f"{list(x)} does not hold square matrices")
    return x[:-2]
