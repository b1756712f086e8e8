"""A progress line that shows itself only when something takes over a second."""

from __future__ import annotations

import threading
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

from ttc.dialects.core.shown import shown

if TYPE_CHECKING:
    from rich.status import Status

DELAY_SECONDS = 1.0


class Progress:
    """The line of progress: what is going on, on the last line of the terminal behind stderr; nothing at all unless enabled.

    A context manager.  `show` may be called at any time; the line appears DELAY_SECONDS after entering.
    """

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self._text = "working"
        self._status: Status | None = None
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Progress:
        if self.enabled:
            self._timer = threading.Timer(DELAY_SECONDS, self._start)
            self._timer.daemon = True
            with suppress(RuntimeError):  # no thread, no line
                self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._timer is None:
            return
        self._timer.cancel()
        with self._lock:
            self._timer = None
            if self._status is not None:
                self._status.stop()

    def show(self, text: str) -> None:
        """Say what is being done now."""
        with self._lock:
            self._text = text
            if self._status is not None:
                self._status.update(_plain(text))

    def compiling(self, done: int, total: int) -> None:
        """Say how many kernels are compiled."""
        self.show(f"compiling kernels for this CPU: {done} of {total}")

    def _start(self) -> None:
        from rich.console import Console
        from rich.status import Status

        with self._lock:
            if self._timer is None:
                return
            self._status = Status(_plain(self._text), console=Console(stderr=True), spinner="line")
            self._status.start()


def _plain(text: str) -> str:
    """Return text that rich prints as it stands."""
    from rich.markup import escape

    return escape(shown(text))
