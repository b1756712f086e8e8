"""Threads of a pipeline, one for each worker, which live from the first concurrent run to the shutdown."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from ttc.dialects.core.errors import Error
from ttc.pipeline.board import Board, Stopped

JOIN_SECONDS = 10.0
"""How many seconds the end of a thread is awaited that computes one microbatch."""
Job = Callable[[], None]


class Crew:
    """Threads that do jobs, one each at a time.

    Args:
        names: of the threads, as errors show them.
    """

    def __init__(self, board: Board, names: Sequence[str]) -> None:
        self._board = board
        self._names = list(names)
        self._jobs: list[Job | None] = [None] * len(self._names)
        self._threads: list[threading.Thread] = []
        self._ended = False

    def start(self, jobs: Sequence[Job]) -> None:
        """Give each thread a job; `finish` waits for them.  Raises E0803 once the crew has ended."""
        with self._board.changed:
            if self._ended:
                raise Error("E0803", "the pipeline is shut down")
            if not self._threads:
                self._hire()
            self._jobs = list(jobs)
            self._board.begin(self._threads)

    def finish(self, what: str) -> None:
        """Wait until all jobs are done.

        Args:   what: is waited for, as errors say it.
        Raises: what a job raised, when all others have ended, too; E0804 where nothing moves any more.
        """
        try:
            with self._board.changed:
                self._board.until(self._is_idle, lambda: what)
                if self._board.error is not None:
                    raise self._board.error
        except BaseException:
            self.dismiss()
            raise

    def dismiss(self) -> None:
        """Take all threads out of their jobs, and wait until they have left them, for a bounded time."""
        self._board.stop()
        with self._board.changed:
            self._board.changed.wait_for(self._is_idle, JOIN_SECONDS)

    def end(self) -> None:
        """End the threads, and wait for that, for a bounded time."""
        with self._board.changed:
            self._ended = True
            self._board.stop()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(JOIN_SECONDS)
        with self._board.changed:
            self._board.threads.difference_update(self._threads)
        self._threads = []

    def _hire(self) -> None:
        for number, name in enumerate(self._names):
            self._threads.append(threading.Thread(target=self._work, args=(number,), name=f"ttc stage {name}", daemon=True))
        self._board.threads.update(self._threads)
        for thread in self._threads:
            thread.start()

    def _is_idle(self) -> bool:
        return all(job is None for job in self._jobs)

    def _work(self, number: int) -> None:
        while (job := self._next(number)) is not None:
            try:
                job()
            except Stopped:
                pass
            except BaseException as error:  # noqa: BLE001 - the caller raises it
                self._board.fail(error)
            with self._board.changed:
                self._jobs[number] = None
                self._board.done()

    def _next(self, number: int) -> Job | None:
        """Return the next job of a thread; None once the crew has ended."""
        with self._board.changed:
            while self._jobs[number] is None and not self._ended:
                self._board.changed.wait()
            return None if self._ended else self._jobs[number]
