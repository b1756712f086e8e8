"""Numpy semantics of the ops that cut tensors and join them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.nn.kernels import KERNELS


@KERNELS.rule("slice")
def slice_(x: NDArray, *, starts: tuple[int, ...], sizes: tuple[int, ...], steps: tuple[int, ...]) -> NDArray:
    """Return a regular part of x: element i along a dimension is element start + i * step of x."""
    return x[tuple(_range(*entry) for entry in zip(starts, sizes, steps, strict=True))]


KERNELS.add("concat", lambda *xs, axis: np.concatenate(xs, axis=axis))


@KERNELS.rule("split")
def split(x: NDArray, *, axis: int, sizes: tuple[int, ...]) -> tuple[NDArray, ...]:
    """Pieces of those sizes along the axis."""
    return tuple(np.split(x, np.cumsum(sizes[:-1], dtype=np.int64), axis=axis))


@KERNELS.rule("pad")
def pad(x: NDArray, *, before: tuple[int, ...], after: tuple[int, ...], value: float, mode: str) -> NDArray:
    """Return x with margins: of a value, of its mirror image, of its border, or of the other end."""
    if mode != "constant":
        return _repeat_border(x, tuple(zip(before, after, strict=True)), mode)
    result = np.full([b + d + a for b, d, a in zip(before, x.shape, after, strict=True)], value, x.dtype)
    result[tuple(slice(b, b + d) for b, d in zip(before, x.shape, strict=True))] = x
    return result


def _range(start: int, size: int, step: int) -> slice:
    stop = start + size * step
    return slice(start, stop if stop >= 0 else None, step) if size else slice(0, 0)


def _repeat_border(x: NDArray, margins: tuple[tuple[int, int], ...], mode: str) -> NDArray:
    try:
        return np.pad(x, margins, "reflect" if mode == "reflect" else "wrap" if mode == "wrap" else "edge")
    except ValueError:
        raise Error("E0802", f"a tensor of shape {list(x.shape)} has nothing to repeat in its margins") from None
