"""Numpy semantics of ops that order elements."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.nn.kernels import KERNELS


@KERNELS.rule("topk")
def topk(x: NDArray, *, k: int, axis: int, largest: bool) -> tuple[NDArray, NDArray]:
    """Return the k largest or smallest along the axis in order, and their places; of equal ones the first."""
    if 0 < k < x.shape[axis] and x.dtype.itemsize <= 4:
        places = _first(x, k, axis, largest=largest)
    else:
        order = np.argsort(_descending(x) if largest else x, axis=axis, kind="stable")
        places = np.take(order, range(k), axis=axis).astype(np.int64)
    return np.take_along_axis(x, places, axis), places


def _first(x: NDArray, k: int, axis: int, *, largest: bool) -> NDArray[np.int64]:
    """Return places of the k first along the axis, of elements of at most 32 bits.

    Each element becomes one integer, its rank in the upper half and its place in the lower: no two are equal, so that k of them can be
    parted from the others without sorting those.
    """
    keys = np.moveaxis(_ranks(x, largest=largest).astype(np.uint64) << 32, axis, -1) | np.arange(x.shape[axis], dtype=np.uint64)
    first = np.sort(np.partition(keys, k - 1, axis=-1)[..., :k], axis=-1)
    return np.moveaxis((first & 0xFFFFFFFF).astype(np.int64), -1, axis)


def _ranks(x: NDArray, *, largest: bool) -> NDArray[np.uint32]:
    """Return integers in the order of x's elements, or in the opposite one; NaN has the last rank either way."""
    if x.dtype.kind != "f":
        ranks = (x.astype(np.int64) - (0 if x.dtype == bool else np.iinfo(x.dtype).min)).astype(np.uint32)
        return ~ranks if largest else ranks
    bits = (x.astype(np.float32) + np.float32(0)).view(np.uint32)  # the sum makes one zero of both
    ranks = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))
    return np.where(np.isnan(x), ~np.uint32(0), ~ranks if largest else ranks)


def _descending(x: NDArray) -> NDArray:
    """Return keys whose ascending order is x's descending one; NaN comes last either way."""
    return -x if x.dtype.kind == "f" else ~x


@KERNELS.rule("reverse_sequence")
def reverse_sequence(x: NDArray, lengths: NDArray, *, time_axis: int, batch_axis: int) -> NDArray:
    """x with the first lengths[b] elements along time_axis in reverse order, for each b along batch_axis."""
    steps = x.shape[time_axis]
    if np.any((lengths < 0) | (lengths > steps)):
        raise Error("E0802", f"lengths {lengths.tolist()[:16]} are not all from 0 to {steps}, the steps of a sequence")
    time = np.arange(steps)
    places = np.where(time < lengths[:, None], lengths[:, None] - 1 - time, time)  # [batch, time]
    if batch_axis > time_axis:
        places = places.T
    shape = [d if i in (time_axis, batch_axis) else 1 for i, d in enumerate(x.shape)]
    return np.take_along_axis(x, places.reshape(shape), time_axis)
