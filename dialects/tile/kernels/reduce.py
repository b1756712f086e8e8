"""Numpy semantics of tile reductions."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ttc.dialects.core.plain.interpret import kernel


def reduce(x: NDArray, *, fn: str, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The nn reduction of that name over the axes."""
    return kernel(f"nn.reduce_{fn}")(x, axes=axes, keepdims=keepdims)
