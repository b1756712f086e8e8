"""Values that live as long as a session: states, parameters that programs update, and rams between graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_named
from ttc.runtime.machine.rings import Entries, Undo, check_entry
from ttc.runtime.pages import aligned_bytes


class OneEntry:
    """The base of rams and variables: one entry, which is read any number of times and replaced by the next."""

    def has_room(self, count: int) -> bool:
        """Return True: there always is room, as the next entry replaces the last."""
        return True

    @property
    def most(self) -> int:
        """The entries that can be read at a time."""
        return 1


class Ram(OneEntry):
    """A queue of type `ram` between graphs, or from the user to them: one entry, the last written."""

    def __init__(self, queue: Entries) -> None:
        self._queue = queue
        self._entry: NDArray | None = None

    def push(self, entry: NDArray) -> None:
        """Replace the entry.  Raises E0602 for a wrong shape."""
        check_entry(self._queue, entry)
        self._entry = entry

    def available(self, reader: str) -> int:
        """Return 1 if there is an entry, which can be read any number of times."""
        return int(self._entry is not None)

    def take(self, reader: str) -> NDArray:
        """Return the entry, which stays.  Raises E0804 if there is none yet."""
        if self._entry is None:
            raise Error("E0804", f"'{reader or 'the user'}' reads '{self._queue.name}' before anything was written to it", self._queue.name)
        return self._entry

    def waiting(self) -> tuple[list[NDArray], dict[str, int]]:
        """Return the entry, if there is one; readers have no positions."""
        return ([] if self._entry is None else [self._entry]), {}

    def refill(self, entries: Sequence[NDArray], read: Mapping[str, int]) -> None:
        """Hold this entry.  Raises E0602 for a wrong shape, E0804 for several, or positions of readers."""
        if len(entries) > 1 or read:
            raise Error("E0804", f"queue '{self._queue.name}' holds one entry, without positions of readers")
        for entry in entries:
            self.push(entry)

    def clear(self) -> None:
        """Forget the entry that the ram holds."""
        self._entry = None

    def mark(self) -> Undo:
        """Return a function that restores the entry as it is now."""
        entry = self._entry

        def undo() -> None:
            self._entry = entry

        return undo


class Variable(OneEntry):
    """A state or parameter in memory of its session's own, aligned to a cache line.

    A run either gets the memory itself to write to (`value`, from plans that change nothing where they fail), or assigns another value,
    which goes to a second buffer and takes the first one's place, so that it can be taken back.

    Args:
        name: of the tensor that holds its first value.
        format: name of the format that the value is rounded to.
        initial: the first value, in the compute dtype of the format; it is copied.
    """

    def __init__(self, name: str, format: str, initial: NDArray) -> None:
        self.name = name
        self.format = format_named(format)
        self.value = owned(initial)
        """Shape and dtype stay; the values are those of now.  Only the session may write to it."""
        self._spare: NDArray | None = None
        self._assigned = False

    @property
    def spare(self) -> NDArray:
        """The second buffer, of arbitrary content."""
        if self._spare is None:
            self._spare = _aligned(self.value)
        return self._spare

    def swap(self) -> None:
        """Let the second buffer be the value."""
        self.value, self._spare = self.spare, self.value

    def rounded(self, value: NDArray) -> NDArray:
        """Return a value as the format holds it.  Raises E0602 if it has another number of elements."""
        if value.size != self.value.size:
            raise Error("E0602", f"a state of shape {list(self.value.shape)} is updated with {list(value.shape)}", self.name)
        with np.errstate(over="ignore"):  # what a narrower float cannot hold is infinite
            return self.format.round(value.astype(self.format.compute, copy=False)).reshape(self.value.shape)

    def keeps(self, dtype: np.dtype) -> bool:
        """Return whether arrays of the dtype hold all values that the variable can have."""
        return self.format.storage == dtype or np.can_cast(self.format.compute, dtype, "safe")

    def push(self, entry: NDArray) -> None:
        """Assign a value.  Raises E0602 for another number of elements."""
        rounded = self.rounded(entry)
        if not self._assigned:
            np.copyto(self.spare, rounded)
            self.swap()
            self._assigned = True
        else:
            np.copyto(self.value, rounded)

    def available(self, reader: str) -> int:
        """Return 1: a variable can always be read."""
        return 1

    def take(self, reader: str) -> NDArray:
        """Return the value, which reading does not change."""
        return self.value

    def clear(self) -> None:
        """Keep the value of the variable when queues are emptied."""

    def mark(self) -> Undo:
        """Return a function that takes back values assigned from now on; one mark is in force at a time."""
        self._assigned = False

        def undo() -> None:
            if self._assigned:
                self.swap()
                self._assigned = False

        return undo


def owned(value: NDArray) -> NDArray:
    """Return a copy in aligned memory of its own.

    Zeros take no memory before somebody writes others: sums of gradients that a program of whole steps never uses.
    """
    copy = _aligned(value)
    if not _is_zero(value):
        np.copyto(copy, value)
    return copy


def _aligned(like: NDArray) -> NDArray:
    """Zeros in aligned memory of their own, of an array's shape and dtype."""
    return aligned_bytes(prod(like.shape) * like.dtype.itemsize).view(like.dtype).reshape(like.shape)


def _is_zero(value: NDArray) -> bool:
    """Return whether all bits are 0; -0.0 is not."""
    if not any(value.strides):  # one number for all elements
        value = value[(slice(0, 1),) * value.ndim]
    flat = np.ascontiguousarray(value).reshape(-1)
    whole = flat.nbytes % 8 == 0
    return not flat.view(np.uint64 if whole else np.uint8).any()
