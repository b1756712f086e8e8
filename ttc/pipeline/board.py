"""What the threads of a pipeline share: one lock, what moves, who works and who waits for what, and the error that ended the work.

Every wait goes through `Board.until`.  A worker waits for as long as nobody ends the work; a caller waits for as long as something moves.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from time import monotonic

from ttc.dialects.core.errors import Error

SLICE_SECONDS = 0.02
"""How often those who wait look whether everybody they depend on is alive."""


class Stopped(BaseException):
    """Raised to take a worker out of its work, which has ended elsewhere."""


class Board:
    """The state of the workers of a pipeline; thread-safe.

    Args:
        patience: seconds for which a caller waits while nothing moves.
    """

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self.changed = threading.Condition()
        self.error: BaseException | None = None
        self.threads: set[threading.Thread] = set()
        """The workers' own."""
        self.checks: list[Callable[[], None]] = []
        """Each raises what a caller must hear of: a process that has ended."""
        self._stopping = False
        self._closed = False
        self._active: set[threading.Thread] = set()
        self._waiting: dict[threading.Thread, tuple[Callable[[], bool], str]] = {}
        self._moves = 0

    # ---- what workers say ----------------------------------------------------------------------------------------------------------

    def begin(self, threads: Iterable[threading.Thread]) -> None:
        """Count threads among those that work, before they have woken."""
        with self.changed:
            self._active.update(threads)
            self.moved()

    def done(self) -> None:
        """Count the thread no longer among those that work."""
        with self.changed:
            self._active.discard(threading.current_thread())
            self.moved()

    def moved(self) -> None:
        """Tell those who wait that something has moved."""
        with self.changed:
            self._moves += 1
            self.changed.notify_all()

    def fail(self, error: BaseException) -> None:
        """End all work with an error; the first one is kept."""
        with self.changed:
            if not isinstance(error, Stopped) and self.error is None:
                self.error = error
            self._stopping = True
            self.moved()

    # ---- what callers ask ----------------------------------------------------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """Return how many workers wait for others, or for the caller; without those that could go on."""
        with self.changed:
            return sum(not ready() for ready, _ in self._waiting.values())

    def stop(self) -> None:
        """Take all workers out of what they do as soon as they wait or turn to the next microbatch."""
        with self.changed:
            self._stopping = True
            self.moved()

    def go_on(self) -> None:
        """Let workers work again after `stop` or an error.  Raises E0803 once the pipeline is shut down."""
        with self.changed:
            self.require_open()
            self._stopping, self.error = False, None

    def close(self) -> None:
        """End all work for good."""
        with self.changed:
            self._closed = self._stopping = True
            self.moved()

    @property
    def closed(self) -> bool:
        """Whether all work has ended for good."""
        return self._closed

    def require_open(self) -> None:
        """Raise E0803 once the pipeline is shut down."""
        if self._closed:
            raise Error("E0803", "the pipeline is shut down", hint="make a new one")

    def check_going(self) -> None:
        """Take a worker out of work that has ended."""
        if self._stopping:
            raise Stopped

    # ---- waiting -------------------------------------------------------------------------------------------------------------------

    def until(self, ready: Callable[[], bool], what: Callable[[], str], timeout: float | None = None) -> None:
        """Wait, holding `changed`, until something is so.

        Args:
            ready: whether it is; asked often, and by other threads, too.
            what: what is waited for, for errors: "queue 'inputs' is full".
            timeout: seconds for which a caller waits at most; None: for as long as something moves, and then for `patience`.
        Raises: what ended the work; E0803 once the pipeline is shut down; E0804 where a caller has waited for so long, or at once where
            all workers wait, and no other thread could change that.
        """
        thread = threading.current_thread()
        if thread in self.threads:
            self._until_as_worker(thread, ready, what)
        else:
            self._until_as_caller(ready, what, timeout)

    def _until_as_worker(self, thread: threading.Thread, ready: Callable[[], bool], what: Callable[[], str]) -> None:
        try:
            while not ready():
                self.check_going()
                self._waiting[thread] = (ready, what())
                self.changed.wait(SLICE_SECONDS)
        finally:
            self._waiting.pop(thread, None)

    def _until_as_caller(self, ready: Callable[[], bool], what: Callable[[], str], timeout: float | None) -> None:
        limit = self.patience if timeout is None else timeout
        moves, since = self._moves, monotonic()
        while not ready():
            self.require_open()
            for check in self.checks:
                check()
            if self.error is not None:
                raise self.error
            now = monotonic()
            if timeout is None and (moves != self._moves or self._is_busy()):
                moves, since = self._moves, now
            if not self._is_busy() and self._is_alone():
                raise self._stuck(what(), "and no other thread could change that")
            if now - since >= limit:
                raise self._stuck(what(), f"still after {limit:g} s")
            self.changed.wait(min(SLICE_SECONDS, max(limit - (now - since), 0.001)))

    def _is_busy(self) -> bool:
        """Return whether a worker computes, or is about to: what it waits for may be there before it wakes."""
        return len(self._active) > self.waiting

    def _is_alone(self) -> bool:
        """Return whether the caller's is the only thread of the process beside the workers'."""
        return not any(t is not threading.current_thread() and t not in self.threads for t in threading.enumerate())

    def _stuck(self, what: str, why: str) -> Error:
        others = "; ".join(sorted(f"{thread.name} waits: {text}" for thread, (_, text) in self._waiting.items()))
        hint = "let another thread push, or take results, or give queues more room"
        return Error("E0804", f"{what}, {why}" + (f" ({others})" if others else ""), hint=hint)
