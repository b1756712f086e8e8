"""Numpy semantics of ops that order elements."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.nn.kernels import KERNELS


@KERNELS.rule("topk")
def topk(x: NDArray, *, k: int, axis: int, largest: bool) -> tuple[NDArray, NDArray]:
    """The k largest or smallest along the axis in order, and their places; of equal ones the first."""
    order = np.argsort(_descending(x) if largest else x, axis=axis, kind="stable")
    places = np.take(order, range(k), axis=axis)
    return np.take_along_axis(x, places, axis), places.astype(np.int64)


def _descending(x: NDArray) -> NDArray:
    """Keys whose ascending order is x's descending one; NaN comes last either way."""
    return -x if x.dtype.kind == "f" else ~x


@KERNELS.rule("reverse_sequence")
def reverse_sequence(x: NDArray, lengths: NDArray, *, time_axis: int, batch_axis: int) -> NDArray:
    """x with the first lengths[b] elements along time_axis in reverse order, for each b along batch_axis."""
    steps = x.shape[time_axis]
    if np.any((lengths < 0) | (lengths > steps)):
        raise Error("E0802", f"lengths {lengths.tolist()[:16]} of sequences of {steps} steps")
    time = np.arange(steps)
    places = np.where(time < lengths[:, None], lengths[:, None] - 1 - time, time)  # [batch, time]
    if batch_axis > time_axis:
        places = places.T
    shape = [d if i in (time_axis, batch_axis) else 1 for i, d in enumerate(x.shape)]
    return np.take_along_axis(x, places.reshape(shape), time_axis)
