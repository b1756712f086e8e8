"""Checks of numbers and words that users of pipelines give."""

from __future__ import annotations

from collections.abc import Collection
from math import isfinite

from ttc.dialects.core.errors import Error, nearest


def at_least(value: int, low: int, name: str) -> int:
    """Return a whole number.  Raises E0101 if it is none, or below the lowest that makes sense."""
    if not isinstance(value, int) or isinstance(value, bool) or value < low:
        raise Error("E0101", f"{name} is {str(value)[:80]}", hint=f"it is a whole number of {low} at least")
    return value


def positive(value: float, name: str) -> float:
    """Return a number above 0.  Raises E0101 for anything else."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value) or value <= 0:
        raise Error("E0101", f"{name} is {str(value)[:80]}", hint="it is a number above 0")
    return float(value)


def known_word(value: str, known: Collection[str], name: str) -> str:
    """Return a word that is one of those known.  Raises E0101."""
    if value not in known:
        raise Error("E0101", f"{name} cannot be '{str(value)[:80]}'", hint=nearest(str(value), known))
    return value
