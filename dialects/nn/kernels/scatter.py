"""Numpy semantics of the ops that write elements at computed places; every index is checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.nn.kernels import KERNELS

_UFUNCS = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


@KERNELS.rule("scatter_elements")
def scatter_elements(x: NDArray, indices: NDArray, updates: NDArray, *, axis: int, reduction: str) -> NDArray:
    """x with each element of updates written at its place, but along the axis at the index."""
    grids: list[Any] = list(np.ogrid[tuple(slice(n) for n in indices.shape)])
    grids[axis] = _checked(indices, x.shape[axis])
    return _written(x, tuple(grids), updates, reduction)


@KERNELS.rule("scatter_nd")
def scatter_nd(x: NDArray, indices: NDArray, updates: NDArray, *, reduction: str) -> NDArray:
    """x with each slice of updates written at the index tuple along indices' last dimension."""
    places = tuple(_checked(indices[..., i], size) for i, size in zip(range(indices.shape[-1]), x.shape, strict=False))
    return _written(x, places, updates, reduction)


def _written(x: NDArray, places: tuple[Any, ...], updates: NDArray, reduction: str) -> NDArray:
    """Element by element in row-major order: of equal places the last one counts, or all are combined."""
    y = x.copy()
    if reduction == "none":
        y[places] = updates
    else:
        _UFUNCS[reduction].at(y, places, updates)
    return y


def _checked(indices: NDArray, size: int) -> NDArray:
    """Return indices counted from the front.  Raises E0802 unless every one is in [-size, size)."""
    wrong = indices[(indices < -size) | (indices >= size)]
    if wrong.size:
        raise Error("E0802", f"index {wrong.ravel()[0]} is outside a dimension of {size} elements")
    return np.where(indices < 0, indices + size, indices)
