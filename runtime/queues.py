"""Queues at run time: rings and rams of entries, and the set of them that one run of a program uses."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.model import Netlist, Program, Queue
from ttc.runtime.engines.base import HELD, bound_queues

USER = ""
"""The reader that takes a program's results (graphs read under their names, which are never empty)."""


class Ring:
    """A queue whose entries are consumed.  Every reader gets every entry; a slot is free again once all have read it."""

    def __init__(self, queue: Queue, readers: Iterable[str]) -> None:
        self._queue = queue
        self._entries: deque[NDArray] = deque()
        self._read = dict.fromkeys(readers, 0)

    def push(self, entry: NDArray) -> None:
        """Add an entry, which nobody changes any more.  Raises E0608 if all slots are taken, E0602 for a wrong shape."""
        check_entry(self._queue, entry)
        if len(self._entries) >= self._queue.entries:
            raise Error("E0608", f"queue '{self._queue.name}' is full: it has {self._queue.entries} entries", self._queue.name)
        if self._read:
            self._entries.append(entry)

    def pop(self, reader: str) -> NDArray:
        """The reader's next entry.  Raises E0608 if there is none."""
        position = self._read[reader]
        if position >= len(self._entries):
            raise Error("E0608", f"'{reader or 'the user'}' reads queue '{self._queue.name}', which is empty", self._queue.name)
        entry = self._entries[position]
        self._read[reader] = position + 1
        if position == 0 and all(self._read.values()):
            self._entries.popleft()
            self._read = {name: count - 1 for name, count in self._read.items()}
        return entry

    def drain(self) -> list[NDArray]:
        """All entries that the user has not read.  Raises E0608 if there is none."""
        found = [self.pop(USER)]
        while self._read[USER] < len(self._entries):
            found.append(self.pop(USER))
        return found

    def clear(self) -> None:
        self._entries.clear()
        self._read = dict.fromkeys(self._read, 0)


class Ram:
    """A queue that is read and written in place: one entry, the last written."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._entry: NDArray | None = None

    def push(self, entry: NDArray) -> None:
        """Replace the entry.  Raises E0602 for a wrong shape."""
        check_entry(self._queue, entry)
        self._entry = entry

    def pop(self, reader: str) -> NDArray:
        """The entry, which stays.  Raises E0608 if there is none yet."""
        if self._entry is None:
            raise Error("E0608", f"'{reader or 'the user'}' reads '{self._queue.name}' before anything was written to it")
        return self._entry

    def drain(self) -> list[NDArray]:
        """The entry alone.  Raises E0608 if there is none yet."""
        return [self.pop(USER)]

    def clear(self) -> None:
        self._entry = None


def check_entry(queue: Queue, entry: NDArray) -> None:
    """Raises E0602 unless an entry has the queue's shape (-1: any)."""
    expected = queue.tensor.shape
    if len(expected) != entry.ndim or any(e not in (-1, n) for e, n in zip(expected, entry.shape, strict=True)):
        raise Error("E0602", f"an entry of shape {list(entry.shape)} does not fit queue '{queue.name}' of {list(expected)}")


class QueueSet:
    """The queues of one program, for one run at a time.

    States are rams, one a tensor, however many queues show it.  A parameter's queue is here only if the program writes it: graphs read
    parameters from the program's constants, which change between runs.
    """

    def __init__(self, netlist: Netlist, program: Program) -> None:
        self._bound = {name: bound_queues(netlist.graphs[name], netlist) for name in executed_graphs(program)}
        readers: dict[str, list[str]] = {}
        for name, queues in self._bound.items():
            for queue in queues:
                readers.setdefault(queue, []).append(name)
        for result in program.results:
            readers.setdefault(result.queue, []).append(USER)
        self._states: dict[str, Ram] = {}
        self._queues: dict[str, Ring | Ram] = {}
        written = {name for graph in self._bound for _, name in netlist.graphs[graph].writes}
        for name, queue in netlist.queues.items():
            if queue.kind not in HELD or name in written:
                self._queues[name] = self._make(queue, dict.fromkeys(readers.get(name, ())))

    def __getitem__(self, name: str) -> Ring | Ram:
        found = self._queues.get(name)
        if found is None:
            raise Error("E0601", f"there is no queue '{name}' that runs read or write")
        return found

    def start(self, states: Mapping[str, NDArray]) -> None:
        """Empty all queues and set the states, by key."""
        self.clear()
        for key, ram in self._states.items():
            ram.push(states[key])

    def clear(self) -> None:
        """Empty all queues, and forget the states."""
        for queue in self._queues.values():
            queue.clear()

    def bound(self, graph: str) -> tuple[str, ...]:
        """Queues that a graph of the program reads."""
        return self._bound[graph]

    def states(self) -> dict[str, NDArray]:
        """The states as they are now, by key."""
        return {key: ram.pop(USER) for key, ram in self._states.items()}

    def _make(self, queue: Queue, readers: Iterable[str]) -> Ring | Ram:
        if queue.kind == "state" and queue.key is not None:
            return self._states.setdefault(queue.key, Ram(queue))
        return Ram(queue) if queue.type == "ram" else Ring(queue, readers)


def executed_graphs(program: Program) -> tuple[str, ...]:
    """Graphs that a program executes, each once."""
    return tuple(dict.fromkeys(str(i.args[0]) for i in program.instructions if i.opcode == "execute"))
