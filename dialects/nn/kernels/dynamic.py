"""Numpy semantics of the views whose sizes are computed."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.nn.kernels import KERNELS

_MAX_ELEMENTS = 1 << 28


@KERNELS.rule("dynamic_reshape")
def dynamic_reshape(x: NDArray, shape: NDArray, *, sizes: tuple[int, ...]) -> NDArray:
    """Return the elements in row-major order under the shape; -1: what remains."""
    wanted = shape.tolist()
    if min(wanted, default=0) < -1:
        raise Error("E0802", f"sizes {wanted} are no shape")
    try:
        return require_announced(np.reshape(x, wanted), sizes)
    except ValueError:
        raise Error("E0802", f"{x.size} elements do not fill shape {wanted}") from None


@KERNELS.rule("dynamic_expand")
def dynamic_expand(x: NDArray, shape: NDArray, *, sizes: tuple[int, ...]) -> NDArray:
    """Return x broadcast with the shape, as numpy broadcasts two arrays."""
    wanted = shape.tolist()
    try:
        full = np.broadcast_shapes(x.shape, tuple(wanted))
    except ValueError:
        raise Error("E0802", f"a tensor of shape {list(x.shape)} does not broadcast with {wanted}") from None
    if prod(full) > _MAX_ELEMENTS:
        raise Error("E0802", f"{prod(full)} elements are too many")
    return require_announced(np.broadcast_to(x, full), sizes)


@KERNELS.rule("dynamic_slice")
def dynamic_slice(x: NDArray, starts: NDArray, ends: NDArray, steps: NDArray, *, axes: tuple[int, ...]) -> NDArray:
    """Return the part of x that Python's slices of the axes name."""
    parts = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, starts.tolist(), ends.tolist(), steps.tolist(), strict=True):
        if step == 0:
            raise Error("E0802", "a slice has steps of 0")
        parts[axis] = slice(start, end, step)
    return x[tuple(parts)]


def require_announced(y: NDArray, sizes: tuple[int, ...]) -> NDArray:
    """Return a result whose shape is as announced, -1 standing for any size.  Raises E0802 for any other."""
    if y.ndim != len(sizes) or any(s not in (-1, n) for s, n in zip(sizes, y.shape, strict=True)):
        raise Error("E0802", f"a result has shape {list(y.shape)} where {list(sizes)} is announced")
    return y
