"""What instruments share: the stage and the run of a pass that is under way, and patterns of pass names."""

from __future__ import annotations

from collections import Counter
from fnmatch import fnmatchcase

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.watching import Named, Subject
from ttc.options import STAGES
from ttc.passes.base import Watcher

NATIVE = "native"
"""The name of the place of the native engine's steps among the stages: behind the last one."""


class PassWatcher(Watcher):
    """Keeps track of where in the pipeline the compilation is, the steps of the native engine included.

    Attributes:
        stage: whose passes run now.
        number: of the pass in that stage, from 1.
        run: the pass's name, with `@3` for its third run in the pipeline.
    """

    def __init__(self) -> None:
        self.stage, self.number, self.run = STAGES[1], 0, ""
        self._runs: Counter[str] = Counter()

    def on_stage(self, stage: str, unit: Subject) -> None:
        """Note that a stage ended; a module that was stopped inside the next one says how many of its passes are behind it."""
        self.stage, self.number = following(stage), unit.passes_done

    def before(self, pass_: Named, unit: Subject) -> None:
        """Note that a pass or a step begins."""
        self.number += 1
        self._runs[pass_.name] += 1
        self.run = f"{pass_.name}@{self._runs[pass_.name]}"

    @property
    def times_run(self) -> int:
        """How often the pass under way has run, this run included."""
        return int(self.run.rpartition("@")[2] or 0)


def following(stage: str) -> str:
    """Return the stage that follows a stage; the last one follows itself, and so do the steps of the native engine."""
    return NATIVE if stage == NATIVE else STAGES[min(STAGES.index(stage) + 1, len(STAGES) - 1)]


class PassPattern:
    """A pattern of runs of passes: `fuse-*`, `canonicalize@3` (its third run), `tile` (all passes of a stage). Raises E0101."""

    def __init__(self, text: str) -> None:
        self.name, at, number = text.partition("@")
        self.times = int(number) if number.isdecimal() else None
        if at and not self.times:
            raise Error("E0101", f"pattern of passes '{text[:80]}': a number from 1 follows '@'")

    def matches(self, name: str, stage: str, times: int) -> bool:
        """Return whether the pattern means a pass in its run of that number."""
        return (fnmatchcase(name, self.name) or stage == self.name) and self.times in (None, times)

    def require_known(self) -> PassPattern:
        """Return the pattern itself.  Raises E0101 if no pass, no step of the native engine and no stage matches it."""
        from ttc.passes.pipeline_text import all_passes
        from ttc.runtime.engines.native.prepare.steps import STEP_NAMES

        known = (*all_passes(), *STAGES[1:-1], *STEP_NAMES, NATIVE)
        if not any(fnmatchcase(name, self.name) for name in known):
            raise Error("E0101", f"no pass matches '{self.name[:80]}'", hint=nearest(self.name, known) or "ttc passes lists them")
        return self
