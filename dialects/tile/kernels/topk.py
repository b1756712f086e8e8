"""Numpy semantics of the k largest numbers of rows, by the network of comparisons that the device has."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.records import record
from ttc.dialects.core.tiling.arrays import require_room
from ttc.dialects.tile.kernels import KERNELS


@KERNELS.rule("topk")
def topk(values: NDArray, indices: NDArray, *, k: int, sort: str, sorted_runs: bool, cores: int, width: int) -> NDArray:
    """Return the k largest of each core's part of every row, or their indices, beside zeros."""
    *lead, columns = values.shape
    size = columns // cores
    keys = values.reshape(-1, size).astype(np.float32)
    places = np.broadcast_to(np.arange(size), keys.shape).copy()
    for step in _steps(size, k, sorted_runs):
        _compare(keys, places, step)
    source = values if sort == "max" else indices
    found = np.take_along_axis(source.reshape(-1, size), places[:, :k], axis=1)
    require_room((len(found), width))
    y = np.zeros((len(found), width), source.dtype)
    y[:, : found.shape[1]] = found
    return y.reshape(*lead, cores * width)


@record
class _Step:
    """Comparisons that touch no element twice: larger number to the left where `descending`; `swapped` exchanges after that."""

    left: NDArray
    right: NDArray
    descending: NDArray
    swapped: NDArray


def _compare(keys: NDArray, places: NDArray, step: _Step) -> None:
    """One step on every row: equal numbers change places too, negative ones where it descends, others where it ascends."""
    a, b = keys[:, step.left], keys[:, step.right]
    falls = (b > a) | ((b == a) & (a < 0))
    rises = (b < a) | ((b == a) & (a >= 0))
    change = np.where(step.descending, falls, rises) ^ step.swapped
    for array in (keys, places):
        left, right = array[:, step.left], array[:, step.right]
        array[:, step.left], array[:, step.right] = np.where(change, right, left), np.where(change, left, right)


def _steps(size: int, k: int, sorted_runs: bool) -> Iterator[_Step]:
    """Yield all steps for rows of `size` numbers: sort runs of k in turn downward and upward, then halve their number again and again."""
    levels = k.bit_length() - 1
    if not sorted_runs:
        for phase in range(levels):
            yield from _merged(size, 1 << (phase + 1), range(0, size, 1 << (phase + 1)), _exchanged(size, phase, k))
    elif k > 16:
        yield from _merged(size, k, range(0, size, k))
    stride = k
    while 2 * stride <= size:
        starts = np.arange(0, size, 2 * stride)
        left = (starts[:, None] + np.arange(k)).ravel()
        yield _Step(left, left + stride, np.ones(len(left), np.bool_), np.zeros(len(left), np.bool_))
        yield from _merged(size, k, range(0, size, 2 * stride))
        stride *= 2


def _exchanged(size: int, phase: int, k: int) -> NDArray | None:
    """Elements of the runs whose numbers are exchanged once more after each comparison: of long sequences in two of the phases."""
    if k < 64 or phase not in (3, 4):
        return None
    return (np.arange(size) >> (phase + 1) << (phase + 1)) % 128 >= 64


def _merged(size: int, length: int, starts: range, exchanged: NDArray | None = None) -> Iterator[_Step]:
    """Bitonic runs of that length, at those places, in turn to falling and rising order."""
    run = np.array(starts)
    distance = length // 2
    offsets = np.arange(length)
    while distance:
        inner = offsets[offsets % (2 * distance) < distance]
        left = (run[:, None] + inner).ravel()
        descending = np.repeat(np.arange(len(run)) % 2 == 0, len(inner))
        swapped = np.zeros(len(left), np.bool_) if exchanged is None else exchanged[left]
        yield _Step(left, left + distance, descending, swapped)
        distance //= 2
