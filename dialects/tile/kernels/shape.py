"""Numpy semantics of tile ops that only rearrange elements."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.tile.kernels import KERNELS

KERNELS.add("reshape", lambda x, *, shape: x.reshape(shape))
KERNELS.add("broadcast", lambda x, *, shape: np.broadcast_to(x, shape))


@KERNELS.rule("hslice")
def hslice(x: NDArray, *, n: int) -> NDArray:
    """[..., rows, n * width] -> [..., n, rows, width]."""
    *lead, rows, width = x.shape
    return np.swapaxes(x.reshape(*lead, rows, n, width // n), -2, -3)


@KERNELS.rule("hstack")
def hstack(x: NDArray, *, n: int) -> NDArray:
    """[..., n, rows, width] -> [..., rows, n * width]."""
    *lead, _, rows, width = x.shape
    return np.swapaxes(x, -2, -3).reshape(*lead, rows, n * width)


@KERNELS.rule("pad")
def pad(x: NDArray, *, before: tuple[int, ...], after: tuple[int, ...], value: float) -> NDArray:
    """Return elements of one value around x."""
    return np.pad(x, tuple(zip(before, after, strict=True)), constant_values=np.asarray(value).astype(x.dtype))


KERNELS.add("relayout", lambda x: x)
