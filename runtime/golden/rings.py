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
    (pointers equal); the slot is the pointer modulo the entries.

    Args:
        source: where the host's next entry comes from; None for a queue that an op fills.
        drain: takes each entry as soon as it is written, for a queue that the host reads; None for one that graphs read.
    """

    def __init__(
        self, queue: Queue, meter: Meter, source: Callable[[], NDArray] | None = None, drain: Callable[[NDArray], None] | None = None
    ) -> None:
        self.queue = queue
        self._meter = meter
        self._source = source
        self._drain = drain
        self._slots: dict[int, NDArray] = {}
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
            self.write_pointer = self.read_pointer = self._moved(self.write_pointer, 1)
            self._drain(entry)
            return
        if self.occupied >= self.queue.entries:
            hint = "nothing has moved its rd_ptr_global: on the device the graph would wait for ever"
            raise Error("E0804", f"queue '{self.name}' is written while all its {self.queue.entries} entries are taken", hint=hint)
        slot = self.write_pointer % self.queue.entries
        self._forget(slot)
        self._meter.hold(entry.nbytes, self.name)
        self._slots[slot] = entry
        self.write_pointer = self._moved(self.write_pointer, 1)

    def read(self, pointer: int) -> NDArray:
        """The entry at a pointer; the host pushes until it is there.  Raises E0804 if it is not."""
        ahead = (pointer - self.read_pointer) % (2 * self.queue.entries)
        if ahead >= self.queue.entries:
            message = f"queue '{self.name}' of {self.queue.entries} entries is read at {pointer}, with rd_ptr_global at {self.read_pointer}"
            raise Error("E0804", message, hint="an entry can be read from rd_ptr_global up to `entries` less one after it")
        while self._source is not None and self.occupied <= ahead:
            self.push(self._source())
        found = self._slots.get(pointer % self.queue.entries)
        if self.occupied <= ahead or found is None:
            message = f"queue '{self.name}' is read at {pointer} while it holds {self.occupied} entries from {self.read_pointer}"
            raise Error("E0804", message, hint="on the device the graph would wait for ever: what writes the queue must run before")
        return found

    def start_at(self, pointer: int) -> None:
        """Set the oldest entry that is still needed, as an execution does.  Raises E0804 for a pointer that the ring lacks.

        The first one after `clear` tells in which round of the ring the program is: both pointers start there.
        """
        self._check(pointer)
        if self._fresh and pointer % self.queue.entries == self.read_pointer % self.queue.entries:
            self.write_pointer = self._moved(self.write_pointer, pointer - self.read_pointer)
            self.read_pointer = pointer
        self._fresh = False
        self.move_to(pointer)

    def move_to(self, pointer: int) -> None:
        """Give up the entries before a pointer; a pointer that lies behind is taken as it is.  Raises E0804."""
        self._check(pointer)
        distance = (pointer - self.read_pointer) % (2 * self.queue.entries)
        if distance <= self.occupied:
            self.pop(distance)
        self.read_pointer = pointer

    def pop(self, count: int) -> None:
        """Give up the oldest entries.  Raises E0804 if there are fewer."""
        if count > self.occupied:
            raise Error("E0804", f"{count} entries are popped from queue '{self.name}', which holds {self.occupied}")
        for step in range(count):
            self._forget((self.read_pointer + step) % self.queue.entries)
        self.read_pointer = self._moved(self.read_pointer, count)

    def clear(self) -> None:
        """Empty it, as allocating does."""
        for slot in list(self._slots):
            self._forget(slot)
        self.read_pointer = self.write_pointer = 0
        self._fresh = True

    def left(self) -> list[NDArray]:
        """What it holds, the oldest first."""
        slots = [(self.read_pointer + step) % self.queue.entries for step in range(min(self.occupied, self.queue.entries))]
        return [self._slots[slot] for slot in slots if slot in self._slots]

    @property
    def name(self) -> str:
        """Of the queue."""
        return self.queue.name

    def moved(self, pointer: int, count: int) -> int:
        """A pointer so many entries further."""
        return self._moved(pointer, count)

    def _moved(self, pointer: int, count: int) -> int:
        return (pointer + count) % (2 * self.queue.entries)

    def _check(self, pointer: int) -> None:
        if not 0 <= pointer < 2 * self.queue.entries:
            limit = 2 * self.queue.entries
            raise Error("E0804", f"rd_ptr_global of queue '{self.name}' is set to {pointer}: pointers of its ring end before {limit}")

    def _forget(self, slot: int) -> None:
        entry = self._slots.pop(slot, None)
        if entry is not None:
            self._meter.release(entry.nbytes)
