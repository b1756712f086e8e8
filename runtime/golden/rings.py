"""Queues as a Buda program sees them: rings of entries whose pointers the program sets, and which the host fills and drains."""

from __future__ import annotations

from collections.abc import Callable

from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.model import Queue
from ttc.runtime.machine.limits import Meter
from ttc.runtime.machine.rings import Ring, check_entry


class HostRing(Ring[Queue]):
    """A ring with pointers of programs, which are taken modulo twice the entries, and perhaps a host at one of its ends.

    A pointer that is set back makes entries readable again that were given up, as long as their slots are not written again; this is so
    for entries of the host, which can make them anew, while those of ops are gone.

    Args:
        source: gives entry number n of those that the host pushes; None for a queue that an op fills.
        drain: takes each entry as soon as it is written, for a queue that the host reads; None for one that graphs read.
    """

    def __init__(
        self, queue: Queue, meter: Meter, source: Callable[[int], NDArray] | None = None, drain: Callable[[NDArray], None] | None = None
    ) -> None:
        super().__init__(queue, meter)
        self._source = source
        self._drain = drain
        self._numbers: dict[int, int] = {}
        self.pushed = 0
        """Entries that the host has pushed."""
        self._fresh = True

    def push(self, entry: NDArray) -> None:
        """Push an entry, which a host that drains the queue takes at once; see `Ring.push`."""
        if self._drain is None:
            super().push(entry)
            return
        check_entry(self.queue, entry)
        self.write_pointer = self.read_pointer = self.moved(self.write_pointer, 1)
        self._drain(entry)

    def read(self, pointer: int) -> NDArray:
        """Return the entry at a pointer; the host pushes until it is there.  Raises E0804 if it is not.

        A graph that takes more inputs than a queue of the host has entries goes round the ring again.
        """
        ahead = self.distance(self.read_pointer, pointer)
        if self._source is not None:
            ahead %= self.queue.entries
        if ahead >= self.queue.entries:
            message = f"queue '{self.name}' of {self.queue.entries} entries is read at {pointer}, with rd_ptr_global at {self.read_pointer}"
            raise Error("E0804", message, hint="an entry can be read from rd_ptr_global up to `entries` less one after it")
        self._fill(ahead + 1)
        found = self._entry(pointer % self.queue.entries)
        if self.occupied <= ahead or found is None:
            message = f"queue '{self.name}' is read at {pointer} while it holds {self.occupied} entries from {self.read_pointer}"
            raise Error("E0804", message, hint="on the device the graph would wait for ever: what writes the queue must run before")
        return found

    def start_at(self, pointer: int) -> None:
        """Set the oldest entry that is still needed, as an execution does.  Raises E0804 for a negative pointer.

        The first one after `clear` tells in which round of the ring the program is: both pointers start there.
        """
        pointer = self._wrapped(pointer)
        if self._fresh and pointer % self.queue.entries == self.read_pointer % self.queue.entries:
            self.write_pointer = self.moved(self.write_pointer, pointer - self.read_pointer)
            self.read_pointer = pointer
        self._fresh = False
        self.move_to(pointer)

    def move_to(self, pointer: int) -> None:
        """Give up the entries before a pointer, which the host pushes if they are not there yet.

        A pointer that lies behind is taken as it is; where that leaves the pointers further apart than a ring can be, the host goes on
        from there.  Raises E0804 for a negative pointer.
        """
        pointer = self._wrapped(pointer)
        distance = self.distance(self.read_pointer, pointer)
        if distance <= self.queue.entries:
            self._fill(distance)
        if distance <= self.occupied:
            self.pop(distance)
        self.read_pointer = pointer
        if self._source is not None and self.occupied > self.queue.entries:
            self.write_pointer = pointer

    def clear(self) -> None:
        """Empty the ring, as allocating and deallocating do."""
        super().clear()
        self._fresh = True

    def _wrapped(self, pointer: int) -> int:
        if pointer < 0:
            raise Error("E0804", f"rd_ptr_global of queue '{self.name}' is set to {pointer}")
        return pointer % (2 * self.queue.entries)

    def _fill(self, count: int) -> None:
        """Let the host push until the ring holds so many entries.  Raises E0805 where these are too many."""
        if self._source is None:
            return
        self._meter.entries(count - self.occupied)
        while self.occupied < count:
            self._numbers[self._next_slot()] = self.pushed
            self.pushed += 1

    def _entry(self, slot: int) -> NDArray | None:
        number = self._numbers.get(slot)
        return self._slots.get(slot) if number is None or self._source is None else self._source(number)
