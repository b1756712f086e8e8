"""Queues as a Buda program sees them: rings of entries whose pointers the program sets."""

from __future__ import annotations

from collections.abc import Callable

from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.model import Queue
from ttc.runtime.golden.limits import Meter
from ttc.runtime.queues import check_entry


class Ring:
    """A queue of type `queue`.

    Pointers run from 0 to twice the entries less one, so that a full ring (pointers `entries` apart) can be told from an empty one
    (pointers equal); the slot is the pointer modulo the entries.  What programs say is taken modulo twice the entries.

    A pointer that is set back makes entries readable again that were given up, as long as their slots are not written again; this is so
    for entries of the host, which can make them anew, while those of ops are gone.

    Args:
        source: gives entry number n of those that the host pushes; None for a queue that an op fills.
        drain: takes each entry as soon as it is written, for a queue that the host reads; None for one that graphs read.
    """

    def __init__(
        self, queue: Queue, meter: Meter, source: Callable[[int], NDArray] | None = None, drain: Callable[[NDArray], None] | None = None
    ) -> None:
        if queue.entries < 1:
            raise Error("E0602", f"queue '{queue.name}' has {queue.entries} entries: at least 1")
        self.queue = queue
        self._meter = meter
        self._source = source
        self._drain = drain
        self._slots: dict[int, NDArray] = {}
        self._numbers: dict[int, int] = {}
        self.pushed = 0
        """Entries that the host has pushed."""
        self.read_pointer = 0
        self.write_pointer = 0
        self._fresh = True

    @property
    def occupied(self) -> int:
        """Entries from the oldest that is still needed to the newest."""
        return (self.write_pointer - self.read_pointer) % (2 * self.queue.entries)

    def push(self, entry: NDArray) -> None:
        """Write the next entry.  Raises E0804 if the ring is full, E0602 for a wrong shape."""
        check_entry(self.queue, entry)
        if self._drain is not None:
            self.write_pointer = self.read_pointer = self.moved(self.write_pointer, 1)
            self._drain(entry)
            return
        slot = self._next_slot()
        self._meter.hold(entry.nbytes, self.name)
        self._slots[slot] = entry

    def read(self, pointer: int) -> NDArray:
        """The entry at a pointer; the host pushes until it is there.  Raises E0804 if it is not.

        A graph that takes more inputs than a queue of the host has entries goes round the ring again.
        """
        ahead = (pointer - self.read_pointer) % (2 * self.queue.entries)
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
        distance = (pointer - self.read_pointer) % (2 * self.queue.entries)
        if distance <= self.queue.entries:
            self._fill(distance)
        if distance <= self.occupied:
            self.pop(distance)
        self.read_pointer = pointer
        if self._source is not None and self.occupied > self.queue.entries:
            self.write_pointer = pointer

    def pop(self, count: int) -> None:
        """Give up the oldest entries.  Raises E0804 if there are fewer."""
        if count > self.occupied:
            raise Error("E0804", f"{count} entries are popped from queue '{self.name}', which holds {self.occupied}")
        first = self.read_pointer % self.queue.entries
        given_up = range(count) if count < len(self._slots) else [(slot - first) % self.queue.entries for slot in self._slots]
        for step in given_up:
            if step < count:
                self._forget((first + step) % self.queue.entries)
        self.read_pointer = self.moved(self.read_pointer, count)

    def clear(self) -> None:
        """Empty it, as allocating and deallocating do."""
        for slot in list(self._slots):
            self._forget(slot)
        self.read_pointer = self.write_pointer = 0
        self._fresh = True

    def left(self) -> dict[int, NDArray]:
        """What an op has written and nobody has given up, the oldest first, by their slots."""
        first = self.read_pointer % self.queue.entries
        slots = sorted(self._slots, key=lambda slot: (slot - first) % self.queue.entries)
        return {slot: self._slots[slot] for slot in slots if (slot - first) % self.queue.entries < self.occupied}

    @property
    def name(self) -> str:
        """Of the queue."""
        return self.queue.name

    def moved(self, pointer: int, count: int) -> int:
        """A pointer so many entries further."""
        return (pointer + count) % (2 * self.queue.entries)

    def _wrapped(self, pointer: int) -> int:
        if pointer < 0:
            raise Error("E0804", f"rd_ptr_global of queue '{self.name}' is set to {pointer}")
        return pointer % (2 * self.queue.entries)

    def _next_slot(self) -> int:
        """The slot of the entry that is written next.  Raises E0804 if none is free."""
        if self.occupied >= self.queue.entries:
            hint = "nothing has moved its rd_ptr_global: on the device the graph would wait for ever"
            raise Error("E0804", f"queue '{self.name}' is written while all its {self.queue.entries} entries are taken", hint=hint)
        slot = self.write_pointer % self.queue.entries
        self._forget(slot)
        self.write_pointer = self.moved(self.write_pointer, 1)
        return slot

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

    def _forget(self, slot: int) -> None:
        entry = self._slots.pop(slot, None)
        if entry is not None:
            self._meter.release(entry.nbytes)
