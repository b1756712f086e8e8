"""Sums of products of integers, which BLAS computes on floating-point numbers where they hold them exactly."""

from __future__ import annotations

from numpy.typing import NDArray

_EXACT = 2**53
"""Integers below this are float64 numbers."""


def sums_are_exact(a: NDArray, b: NDArray, terms: int) -> bool:
    """Return whether every sum of so many products of an element of each array is a float64 number."""
    return _bound(a) * _bound(b) * terms < _EXACT


def _bound(x: NDArray) -> int:
    """Return the largest absolute value of an array of integers."""
    return max(abs(int(x.min(initial=0))), abs(int(x.max(initial=0))))
