"""The bar of `ttc train` on a terminal: how far the run is, the loss, updates a second, and the time that is left."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

from ttc.train.log import LogLine

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID


class TrainingBar:
    """A context manager; shows nothing unless enabled.

    Args:
        enabled: whether there is a terminal behind stderr that is to show it.
    """

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._first: tuple[float, int] | None = None

    def __enter__(self) -> TrainingBar:
        if self._enabled:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[told]}"), TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True))
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, line: LogLine, total: int) -> None:
        """Show how far a run of `total` updates is."""
        if self._bar is None:
            return
        now = time.perf_counter()
        if self._first is None or self._task is None:
            self._first = (now, line.update)
            self._task = self._bar.add_task("", total=total, completed=line.update, told="")
        began, first = self._first
        speed = f", {(line.update - first) / (now - began):.1f} updates/s" if now > began else ""
        self._bar.update(self._task, completed=line.update, told=f"epoch {line.epoch}, loss {line.loss:.4g}{speed}")
