"""Says which pass is running."""

from __future__ import annotations

from collections.abc import Callable

from ttc.dialects.core.watching import Named, Subject
from ttc.passes.base import Watcher


class PassProgress(Watcher):
    """Says which pass is running: calls `show` with a line about each pass before it runs, and after each stage."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self.show = show

    def before(self, pass_: Named, unit: Subject) -> None:
        self.show(f"compiling: {pass_.name}")

    def on_stage(self, stage: str, unit: Subject) -> None:
        self.show(f"compiling: stage {stage} done")
