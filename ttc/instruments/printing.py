"""Prints the IR before and after passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from ttc.dialects.core.watching import Named, Report, Subject
from ttc.instruments.base import PassPattern, PassWatcher


class Printing(PassWatcher):
    """Prints the IR: calls `say` with a heading and the module before passes, and after those that changed it.

    Args:
        before, after: which passes.
        unchanged: print after passes that changed nothing, too, instead of one line that says so.
        locations: with the source names of ops.
    """

    compares: ClassVar[bool] = True

    def __init__(
        self,
        say: Callable[[str], None],
        before: Sequence[PassPattern] = (),
        after: Sequence[PassPattern] = (),
        *,
        unchanged: bool = False,
        locations: bool = False,
    ) -> None:
        super().__init__()
        self.say = say
        self.unchanged = unchanged
        self.locations = locations
        self._before, self._after = before, after

    def before(self, pass_: Named, unit: Subject) -> None:
        super().before(pass_, unit)
        if self._meant(self._before, pass_):
            self._print("before", unit)

    def after(self, pass_: Named, unit: Subject, report: Report) -> None:
        if not self._meant(self._after, pass_):
            return
        if report.changed or self.unchanged:
            self._print("after", unit)
        else:
            self.say(self._heading("after", ": no change"))

    def failed(self, pass_: Named, unit: Subject, error: BaseException) -> None:
        if self._meant([*self._before, *self._after], pass_):
            self._print("failed in", unit)

    def _meant(self, patterns: Sequence[PassPattern], pass_: Named) -> bool:
        return any(pattern.matches(pass_.name, self.stage, self.times_run) for pattern in patterns)

    def _heading(self, when: str, more: str = "") -> str:
        return f"// ---- {when} {self.run} (stage {self.stage}){more}"

    def _print(self, when: str, unit: Subject) -> None:
        self.say(f"{self._heading(when)}\n{unit.text(locations=self.locations)}")
