"""Shapes of probabilities of classes."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.shapes import Shape, require_rank

MAX_CLASSES = 1 << 12


def couple_probabilities(r: Shape, *, classes: int) -> Shape:
    """Return [n, classes] for r[n, pairs].  Raises E0401, E0402."""
    require_rank(r, 2)
    if not 2 <= classes <= MAX_CLASSES:
        raise Error("E0402", f"{classes} classes are out of range")
    if r[1] != classes * (classes - 1) // 2:
        raise Error("E0401", f"{list(r)} does not hold the pairs of {classes} classes")
    return (r[0], classes)
