"""Remembers what failed, so that a crash can be written down (`ttc.debug.crash`, loaded when there is one)."""

from __future__ import annotations

from ttc.instruments.base import PassWatcher
from ttc.passes.base import Pass, Unit
from ttc.passes.pipeline_text import pass_text


class CrashWatch(PassWatcher):
    """Remembers the pass that failed, where in the pipeline it stands, and the passes of its stage up to it."""

    def __init__(self) -> None:
        super().__init__()
        self.failure: tuple[Pass, str, int, BaseException] | None = None
        self.passes: list[str] = []

    def on_stage(self, stage: str, unit: Unit) -> None:
        super().on_stage(stage, unit)
        self.passes = []

    def before(self, pass_: Pass, unit: Unit) -> None:
        super().before(pass_, unit)
        self.passes.append(pass_text(pass_))

    def failed(self, pass_: Pass, unit: Unit, error: BaseException) -> None:
        self.failure = pass_, self.stage, self.number, error
