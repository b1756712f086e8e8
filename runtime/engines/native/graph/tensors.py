"""Where the values of a plan lie: buffers, and strided views of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from math import prod

from numpy.typing import NDArray

from ttc.dialects.core.records import record
from ttc.runtime.engines.native.graph.storage import STORAGE_BYTES, Storage
from ttc.runtime.pages import ALIGNMENT


class Place(Enum):
    """Who holds a buffer's memory."""

    ARENA = "arena"
    """Memory of one run, in its arena."""
    CONSTANT = "constant"
    """Memory of the program: a tensor, or what was made of tensors at load."""
    BOUND = "bound"
    """Memory of the caller: an entry of a queue, different from run to run."""
    WRITTEN = "written"
    """Memory of the caller: an array that a run gives away."""
    STATUS = "status"
    """A word of one run in which kernels say that data is out of range."""


@dataclass(eq=False)
class PlanBuffer:
    """Memory of a plan, by identity.

    Args:
        size_bytes: of it.
        place: who holds it.
        queue: that it is an entry of, where it is bound or written.
        key: of the tensor of the program that it holds, if it does.
        array: its memory, once a constant has some.
        margins: rows and columns of zeros around each of the images that it holds; see `jobs.margins`.
    """

    size_bytes: int
    place: Place = Place.ARENA
    queue: str | None = None
    key: str | None = None
    array: NDArray | None = field(default=None, repr=False)
    margins: tuple[int, int] = (0, 0)


@record(slots=True)
class View:
    """A tensor in a buffer.

    Args:
        shape, strides: elements; a stride of 0 repeats.
        offset: elements from the start of the buffer.
    """

    buffer: PlanBuffer
    storage: Storage
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def item_bytes(self) -> int:
        """Bytes of an element of the view."""
        return STORAGE_BYTES[self.storage]

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def distinct_bytes(self) -> int:
        """Bytes of the elements, repeated ones counted once."""
        return prod(size for size, stride in zip(self.shape, self.strides, strict=True) if stride) * self.item_bytes

    @property
    def is_constant(self) -> bool:
        return self.buffer.place is Place.CONSTANT

    @property
    def is_inside(self) -> bool:
        """Whether all elements lie in the buffer."""
        steps = [(size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True)]
        low = self.offset + sum(min(step, 0) for step in steps)
        high = self.offset + sum(max(step, 0) for step in steps)
        return 0 in self.shape or (low >= 0 and (high + 1) * self.item_bytes <= self.buffer.size_bytes)

    @property
    def is_dense(self) -> bool:
        """Whether the elements lie one after the other in row-major order."""
        return self.rows_from(0)

    @property
    def is_whole(self) -> bool:
        """Whether the elements are all that the buffer holds, in row-major order."""
        return self.is_dense and self.offset == 0 and self.elements * self.item_bytes == self.buffer.size_bytes

    def rows_from(self, axis: int) -> bool:
        """Return whether the dimensions from `axis` on lie one after the other in row-major order."""
        step = 1
        for size, stride in zip(reversed(self.shape[axis:]), reversed(self.strides[axis:]), strict=True):
            if size != 1 and stride != step:
                return False
            step *= size
        return True

    def permuted(self, order: Sequence[int]) -> View:
        """Return the view with its dimensions in another order."""
        return replace(self, shape=tuple(self.shape[i] for i in order), strides=tuple(self.strides[i] for i in order))

    def sliced(self, axis: int, start: int, size: int, step: int = 1) -> View:
        """Return the view of elements start, start + step, ... of one dimension."""
        shape, strides = list(self.shape), list(self.strides)
        offset = self.offset + start * strides[axis]
        shape[axis], strides[axis] = size, strides[axis] * step
        return replace(self, shape=tuple(shape), strides=tuple(strides), offset=offset)

    def at(self, index: int, axis: int = 0) -> View:
        """Return the view of what lies at one index of a dimension, without that dimension."""
        found = self.sliced(axis, index, 1)
        shape, strides = found.shape, found.strides
        return replace(found, shape=shape[:axis] + shape[axis + 1 :], strides=strides[:axis] + strides[axis + 1 :])

    def expanded(self, shape: Sequence[int]) -> View:
        """Return the view broadcast to a shape as numpy does."""
        lead = len(shape) - len(self.shape)
        strides = [0 if own == 1 else stride for own, stride in zip(self.shape, self.strides, strict=True)]
        return replace(self, shape=tuple(shape), strides=(*[0] * lead, *strides))

    def reshaped(self, shape: Sequence[int]) -> View | None:
        """Return the elements in row-major order under another shape, without moving them; None if that cannot be."""
        if self.elements == 0 or prod(shape) != self.elements:
            return None
        groups = _merged([(n, s) for n, s in zip(self.shape, self.strides, strict=True) if n != 1])
        strides: list[int] = []
        for size in reversed(shape):
            if size == 1:
                strides.append(1)
                continue
            if groups[-1][0] == 1:
                groups.pop()
            count, stride = groups[-1]
            if count % size:
                return None
            strides.append(stride)
            groups[-1] = (count // size, stride * size)
        return replace(self, shape=tuple(shape), strides=tuple(reversed(strides)))

    def merged(self) -> tuple[tuple[int, int], ...]:
        """Return (size, stride) of the fewest dimensions that walk the elements in the same order; none of size 1."""
        return tuple(_merged([(n, s) for n, s in zip(self.shape, self.strides, strict=True) if n != 1]))


def _merged(dims: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for size, stride in dims:
        if found and found[-1][1] == stride * size:
            found[-1] = (found[-1][0] * size, stride)
        else:
            found.append((size, stride))
    return found


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a row-major tensor, in elements."""
    strides = [1]
    for size in reversed(shape[1:]):
        strides.append(strides[-1] * max(size, 1))
    return tuple(reversed(strides[: len(shape)]))


def dense(buffer: PlanBuffer, storage: Storage, shape: Sequence[int]) -> View:
    """Return a row-major tensor at the start of a buffer."""
    return View(buffer, storage, tuple(shape), dense_strides(shape))


def lies_at(view: View, place: View) -> bool:
    """Return whether every element is where that place has it already."""
    return (view.buffer, view.storage, view.offset, view.merged()) == (place.buffer, place.storage, place.offset, place.merged())


STATUS = dense(PlanBuffer(ALIGNMENT, Place.STATUS), "i64", (1,))
"""The word where kernels report errors; see `Lowering.status`."""
