"""Rings of entries: memory for what flows from one graph, program or user to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, Protocol, TypeAlias, TypeVar

from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import TensorType
from ttc.runtime.machine.limits import Meter

USER = ""
"""The reader that takes a program's results (graphs read under their names, which are never empty)."""
Undo: TypeAlias = Callable[[], None]
"""Takes back what has happened to a piece of memory since it was marked."""


class Entries(Protocol):
    """What memory needs to know of a queue: its name, the type of an entry, and how many it holds."""

    @property
    def name(self) -> str: ...
    @property
    def tensor(self) -> TensorType: ...
    @property
    def entries(self) -> int: ...


Q = TypeVar("Q", bound=Entries)


class Ring(Generic[Q]):
    """A queue of type `queue`, whose pointers somebody sets.

    Pointers run from 0 to twice the entries less one, so that a full ring (pointers `entries` apart) can be told from an empty one
    (pointers equal); the slot is the pointer modulo the entries.

    Args:
        meter: counts the bytes of entries that are kept.
    Raises: E0602 for a queue without room for an entry.
    """

    def __init__(self, queue: Q, meter: Meter) -> None:
        if queue.entries < 1:
            raise Error("E0602", f"queue '{queue.name}' has {queue.entries} entries: at least 1")
        self.queue = queue
        self.read_pointer = 0
        self.write_pointer = 0
        self._meter = meter
        self._slots: dict[int, NDArray] = {}

    @property
    def name(self) -> str:
        """The name of the queue."""
        return self.queue.name

    @property
    def occupied(self) -> int:
        """Return the number of entries from the oldest that is still needed to the newest."""
        return self.distance(self.read_pointer, self.write_pointer)

    @property
    def free(self) -> int:
        """Return the number of entries that can be written before one is given up."""
        return self.queue.entries - self.occupied

    def distance(self, first: int, last: int) -> int:
        """Return the number of entries from one pointer to another."""
        return (last - first) % (2 * self.queue.entries)

    def moved(self, pointer: int, count: int) -> int:
        """Return a pointer so many entries further."""
        return (pointer + count) % (2 * self.queue.entries)

    def push(self, entry: NDArray) -> None:
        """Write the next entry, which nobody changes any more.  Raises E0804 if the ring is full, E0602 for a wrong shape."""
        check_entry(self.queue, entry)
        slot = self._next_slot()
        self._meter.hold(entry.nbytes, self.name)
        self._slots[slot] = entry

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
        """Give up all entries, and begin anew."""
        for slot in list(self._slots):
            self._forget(slot)
        self.read_pointer = self.write_pointer = 0

    def left(self) -> dict[int, NDArray]:
        """Return the entries that are written and that nobody has given up, the oldest first, by their slots."""
        first = self.read_pointer % self.queue.entries
        slots = sorted(self._slots, key=lambda slot: (slot - first) % self.queue.entries)
        return {slot: self._slots[slot] for slot in slots if (slot - first) % self.queue.entries < self.occupied}

    def _next_slot(self) -> int:
        """Return the slot of the entry that is written next.  Raises E0804 if none is free."""
        if self.free <= 0:
            hint = "nothing has read or given up the oldest: on a device the writer would wait for ever"
            raise Error("E0804", f"queue '{self.name}' is written while all its {self.queue.entries} entries are taken", hint=hint)
        slot = self.write_pointer % self.queue.entries
        self._forget(slot)
        self.write_pointer = self.moved(self.write_pointer, 1)
        return slot

    def _forget(self, slot: int) -> None:
        entry = self._slots.pop(slot, None)
        if entry is not None:
            self._meter.release(entry.nbytes)


class OrderedRing(Ring[Entries]):
    """A ring that sets its pointers itself: every reader gets every entry in the order of writing; a slot is free once all have read it.

    Args:
        readers: names of graphs, and USER.  What a ring without readers is given is not kept.
    """

    def __init__(self, queue: Entries, meter: Meter, readers: Iterable[str]) -> None:
        super().__init__(queue, meter)
        self._next = dict.fromkeys(readers, 0)

    def push(self, entry: NDArray) -> None:
        """Push an entry for all readers; see `Ring.push`."""
        if self._next:
            super().push(entry)
        else:
            check_entry(self.queue, entry)

    def has_room(self, count: int) -> bool:
        """Return whether so many entries can be written now."""
        return not self._next or count <= self.free

    @property
    def most(self) -> int:
        """The most entries that can be there at a time."""
        return self.queue.entries

    def available(self, reader: str) -> int:
        """Return how many entries the reader has not read."""
        return self.distance(self._next[reader], self.write_pointer)

    def take(self, reader: str) -> NDArray:
        """Return the reader's next entry.  Raises E0804 if there is none."""
        pointer = self._next[reader]
        if pointer == self.write_pointer:
            raise Error("E0804", f"'{reader or 'the user'}' reads queue '{self.name}', which is empty", self.name)
        entry = self._slots[pointer % self.queue.entries]
        self._next[reader] = self.moved(pointer, 1)
        read = min(self.distance(self.read_pointer, after) for after in self._next.values())
        if read:
            self.pop(read)
        return entry

    def waiting(self) -> tuple[list[NDArray], dict[str, int]]:
        """Return the entries that somebody has not read, the oldest first, and how many of them each reader has read."""
        return list(self.left().values()), {reader: self.distance(self.read_pointer, after) for reader, after in self._next.items()}

    def refill(self, entries: Sequence[NDArray], read: Mapping[str, int]) -> None:
        """Give up all entries and hold these instead.

        Raises: E0602 or E0804 for entries that do not fit, or other readers; the content is arbitrary then.
        """
        self.clear()
        if read.keys() != self._next.keys() or not all(0 <= count <= len(entries) for count in read.values()):
            raise Error("E0804", f"queue '{self.name}' has the readers {list(self._next)}, not {dict(read)} of {len(entries)} entries")
        for entry in entries:
            self.push(entry)
        self._next = {reader: self.moved(self.read_pointer, read[reader]) for reader in self._next}
        self.pop(min(read.values(), default=0))

    def clear(self) -> None:
        """Give up all entries of all readers; see `Ring.clear`."""
        super().clear()
        self._next = dict.fromkeys(self._next, 0)

    def mark(self) -> Undo:
        """Return a function that restores the ring as it is now."""
        pointers, slots, after = (self.read_pointer, self.write_pointer), self._slots.copy(), self._next.copy()

        def undo() -> None:
            self.clear()
            self.read_pointer, self.write_pointer = pointers
            self._slots, self._next = slots, after
            for entry in slots.values():
                self._meter.hold(entry.nbytes, self.name)

        return undo


def check_entry(queue: Entries, entry: NDArray) -> None:
    """Raises E0602 unless an entry has the queue's shape (-1: any)."""
    expected = queue.tensor.shape
    if len(expected) != entry.ndim or any(e not in (-1, n) for e, n in zip(expected, entry.shape, strict=True)):
        raise Error("E0602", f"an entry of shape {list(entry.shape)} does not fit queue '{queue.name}' of {list(expected)}")
