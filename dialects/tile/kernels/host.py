"""Numpy semantics of the borders between device and host; the caller rounds to the result's format."""

from __future__ import annotations

from numpy.typing import NDArray


def to_host(x: NDArray) -> NDArray:
    """Return x: moving it to the host changes no value."""
    return x


def from_host(x: NDArray) -> NDArray:
    """Return x: moving it from the host changes no value."""
    return x
