"""Where a tensor carries a batch: which of its dimensions, and how the samples lie in that one."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record


@record
class BatchAxis:
    """A dimension that is made of `runs` runs, each of which holds all samples one after another.

    Of `size` samples, each has as many rows in a run as are left: d = runs * size * rows.  Heads folded behind samples, [n * h, ...],
    are one run of n samples with h rows each; heads folded before them, [h * n, ...], are h runs of n samples with one row each.

    Args:
        axis: the dimension, counted from the front.
        runs: in it.
    """

    axis: int = 0
    runs: int = 1

    @staticmethod
    def behind(elements: int, shape: Sequence[int], size: int) -> BatchAxis | None:
        """Return where a tensor carries so many samples whose elements lie in so many runs, in row-major order.

        None if no single dimension holds the samples.  size: at least 2.
        """
        before = 1
        for axis, d in enumerate(shape):
            if before * d >= elements * size:
                found = BatchAxis(axis, elements // before)
                return found if elements % before == 0 and found.fits(shape, size) else None
            before *= d
        return None

    def before(self, shape: Sequence[int]) -> int:
        """Return in how many runs the samples' elements lie, in row-major order."""
        return prod(shape[: self.axis]) * self.runs

    def fits(self, shape: Sequence[int], size: int) -> bool:
        """Return whether a tensor of that shape can carry so many samples here."""
        if not 0 <= self.axis < len(shape) or min(shape[self.axis], self.runs, size) <= 0:
            return False
        return shape[self.axis] % (self.runs * size) == 0

    def samples(self, shape: Sequence[int]) -> int:
        """Return the rows of a run: samples, if each has one row."""
        return shape[self.axis] // self.runs

    def resized(self, shape: Sequence[int], size: int, new_size: int) -> tuple[int, ...]:
        """Return the shape of new_size samples, given that of `size` samples."""
        return (*shape[: self.axis], shape[self.axis] // size * new_size, *shape[self.axis + 1 :])

    def parts(self, array: NDArray, count: int) -> list[NDArray]:
        """Return equal parts of an array, each with as many of the samples: views of it where the samples stand outermost.

        Raises: E0602 if the samples cannot be divided into so many parts.
        """
        if not self.fits(array.shape, count):
            raise Error("E0602", f"{list(array.shape)} does not hold {count} parts in {self.runs} runs of dimension {self.axis}")
        shape = self.resized(array.shape, count, 1)
        before = self.before(shape)
        cut = array.reshape(before, count, prod(shape) // max(before, 1))
        return [cut[:, number].reshape(shape) for number in range(count)]

    def joined(self, parts: Sequence[NDArray]) -> NDArray:
        """Return the array whose `parts` these are, all of one shape."""
        shape = parts[0].shape
        before = self.before(shape)
        whole = np.stack([part.reshape(before, prod(shape) // max(before, 1)) for part in parts], axis=1)
        return whole.reshape(self.resized(shape, 1, len(parts)))


OUTERMOST = BatchAxis()
"""Samples one after another in the first dimension: a sample's elements are a run of the tensor's."""
