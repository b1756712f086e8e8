"""Rams as a Buda program sees them: memory that is read and written in place, perhaps through several views."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_named
from ttc.dialects.netlist.buda.roles import Shared
from ttc.dialects.netlist.model import Queue
from ttc.runtime.machine.limits import Meter
from ttc.runtime.machine.rings import check_entry


class RamPieces:
    """What several rams show: pieces of a few t each, in the order of their addresses.

    An entry of a view with shape [t, rows, columns] is t of them in a row, so that one entry of a view with fewer entries is the entries of
    another one after the other along t.

    Args:
        shared: the rams over it; they must have the same rows and columns, and hold as much.
        fill: gives the initial value of an entry of the owner.
    """

    def __init__(self, shared: Shared, meter: Meter, fill: Callable[[int], NDArray]) -> None:
        first = shared.views[0]
        for view in shared.views:
            if view.tensor.shape[1:] != first.tensor.shape[1:] or _extent(view) != _extent(first):
                message = f"'{view.name}' shows {view.entries} entries of {list(view.tensor.shape)}"
                raise Error("E0602", f"{message}, '{first.name}' {first.entries} of {list(first.tensor.shape)}", hint="they share memory")
        self._step = gcd(*(view.tensor.shape[0] for view in shared.views))
        self.owner = shared.owner
        self._meter = meter
        self._fill = fill
        self._zero = shared.accumulates
        self.written = False
        self.filled: set[int] = set()
        """Entries of the owner that the host has filled."""
        self._pieces: dict[int, NDArray] = {}

    def read(self, view: Queue, entry: int) -> NDArray:
        """Return an entry of a view."""
        pieces = [self._piece(index) for index in self._span(view, entry)]
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def write(self, view: Queue, entry: int, value: NDArray) -> None:
        """Replace an entry of a view.  Raises E0602 for a wrong shape."""
        check_entry(view, value)
        self.written = True
        for place, index in enumerate(self._span(view, entry)):
            self._put(index, value[place * self._step : (place + 1) * self._step])

    def clear(self) -> None:
        """Fill the whole memory with zeros."""
        self.written = self._zero = True
        for index in list(self._pieces):
            self._put(index, np.zeros_like(self._pieces[index]))

    def used(self, view: Queue) -> list[int]:
        """Return the entries of a view of which something has been read or written."""
        return sorted({index * self._step // view.tensor.shape[0] for index in self._pieces})

    def _span(self, view: Queue, entry: int) -> range:
        pieces = view.tensor.shape[0] // self._step
        return range(entry * pieces, (entry + 1) * pieces)

    def _piece(self, index: int) -> NDArray:
        if index not in self._pieces:
            self._load(index)
        return self._pieces[index]

    def _load(self, index: int) -> None:
        """Let the host fill the entry that a piece belongs to; pieces that were written since the start stay as they are."""
        pieces = self.owner.tensor.shape[0] // self._step
        entry = index // pieces
        value = self._initial(entry)
        for place, other in enumerate(self._span(self.owner, entry)):
            if other not in self._pieces:
                self._put(other, value[place * self._step : (place + 1) * self._step])

    def _initial(self, entry: int) -> NDArray:
        if self._zero:
            return np.zeros(self.owner.tensor.shape, format_named(self.owner.tensor.format).compute)
        self.filled.add(entry)
        return self._fill(entry)

    def _put(self, index: int, piece: NDArray) -> None:
        old = self._pieces.get(index)
        if old is not None:
            self._meter.release(old.nbytes)
        self._meter.hold(piece.nbytes, self.owner.name)
        self._pieces[index] = piece


class GoldenRam:
    """One view of a memory, by the entries of its queue.  Its pointers are where the last execution left them."""

    def __init__(self, queue: Queue, memory: RamPieces) -> None:
        self.queue = queue
        self.memory = memory
        self.read_pointer = 0
        self.write_pointer = 0

    @property
    def name(self) -> str:
        """The name of the queue."""
        return self.queue.name

    def read(self, pointer: int) -> NDArray:
        """Return the entry at a pointer.  Raises E0804 for one outside."""
        self._check(pointer, "read")
        return self.memory.read(self.queue, pointer)

    def write(self, pointer: int, entry: NDArray) -> None:
        """Replace the entry at a pointer.  Raises E0804 for one outside."""
        self._check(pointer, "written")
        self.memory.write(self.queue, pointer, entry)

    def moved(self, pointer: int, count: int) -> int:
        """Return a pointer so many entries further."""
        return (pointer + count) % self.queue.entries

    def left(self) -> dict[int, NDArray]:
        """Return the entries that have been read or written, by their pointers."""
        return {entry: self.memory.read(self.queue, entry) for entry in self.memory.used(self.queue)}

    def _check(self, pointer: int, how: str) -> None:
        if not 0 <= pointer < self.queue.entries:
            raise Error("E0804", f"ram '{self.name}' of {self.queue.entries} entries is {how} at {pointer}")


def _extent(view: Queue) -> int:
    return view.entries * view.tensor.shape[0]
