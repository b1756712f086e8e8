"""Queues of a pipeline: bounded, and no wait on them outlives the work that it waits for."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from queue import Full
from typing import Any, Generic, Protocol, TypeVar

from ttc.dialects.core.errors import Error
from ttc.pipeline.board import Board
from ttc.runtime.machine.stalls import stalled

T = TypeVar("T")


class Sink(Protocol):
    """What results can be put into: a queue of a pipeline, of module `queue`, or of `multiprocessing`."""

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """Put an item; raises `queue.Full` where there is no room for so long."""
        ...

    def full(self) -> bool:
        """Say whether there is no room."""
        ...


class Queue(Generic[T]):
    """A queue between threads of a pipeline, or between a pipeline and its user; thread-safe.

    Args:
        room: items that may wait in it; None: any number.
    """

    def __init__(self, board: Board, name: str, room: int | None = None) -> None:
        if room is not None and room < 1:
            raise Error("E0101", f"queue '{name}' has room for {room} items", hint="for 1 at least, or None for any number")
        self.name = name
        self.room = room
        self._board = board
        self._items: deque[T] = deque()

    def put(self, item: T, block: bool = True, timeout: float | None = None) -> None:
        """Put an item behind all others.

        Args:
            block: whether to wait for room; else it must be there.
            timeout: seconds to wait at most; None: for as long as something moves.
        Raises: E0804 for a queue that stays full, and what ended the work of the pipeline.
        """
        with self._board.changed:
            self._wait(self._has_room, self._full, block, timeout)
            self._items.append(item)
            self._board.moved()

    def get(self, block: bool = True, timeout: float | None = None) -> T:
        """Take the oldest item.  Raises E0804 for a queue that stays empty, and what ended the work of the pipeline; see `put`."""
        with self._board.changed:
            self._wait(lambda: bool(self._items), self._empty, block, timeout)
            item = self._items.popleft()
            self._board.moved()
            return item

    def get_all(self) -> list[T]:
        """Take all items that are there now."""
        with self._board.changed:
            found = list(self._items)
            self._items.clear()
            self._board.moved()
            return found

    def peek(self) -> T | None:
        """Look at the oldest item; None where there is none."""
        with self._board.changed:
            return self._items[0] if self._items else None

    def qsize(self) -> int:
        """Return how many items wait."""
        return len(self._items)

    def empty(self) -> bool:
        """Say whether no item waits."""
        return not self._items

    def full(self) -> bool:
        """Say whether there is no room."""
        return not self._has_room()

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        """Take items for as long as there are some."""
        while self._items:
            yield self.get(block=False)

    def _has_room(self) -> bool:
        return self.room is None or len(self._items) < self.room

    def _full(self) -> str:
        return f"queue '{self.name}' is full with {len(self._items)}"

    def _empty(self) -> str:
        return f"queue '{self.name}' is empty"

    def _wait(self, ready: Callable[[], bool], what: Callable[[], str], block: bool, timeout: float | None) -> None:
        if ready():
            return
        if block:
            with stalled(what()):
                self._board.until(ready, what, timeout)
        else:
            raise Error("E0804", what())


def put_into(sink: Sink, item: Any, board: Board, name: str) -> None:
    """Put a result into a queue that may be the user's own.  Raises as `Queue.put` does."""
    if isinstance(sink, Queue):
        sink.put(item)
        return
    while True:
        with board.changed:
            if sink.full():
                with stalled(f"queue '{name}' is full"):
                    board.until(lambda: not sink.full(), lambda: f"queue '{name}' is full")
        try:
            sink.put(item, block=False)
        except Full:
            continue  # another thread was faster
        board.moved()
        return
