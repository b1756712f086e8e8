"""The instrument that prints what passes remark."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ttc.dialects.core.shown import shown
from ttc.dialects.core.watching import Remark
from ttc.instruments.base import PassPattern, PassWatcher
from ttc.passes.base import Watcher


class Remarks(PassWatcher):
    """Prints remarks: calls `say` with `remark: NODE: PASS: missed: why` for every remark, in order.

    patterns: of the passes whose remarks count; none: of all.
    """

    def __init__(self, say: Callable[[str], None], patterns: Sequence[PassPattern] = ()) -> None:
        super().__init__()
        self.say = say
        self.patterns = patterns

    def remark(self, remark: Remark) -> None:
        if not self.patterns or any(p.matches(remark.pass_name, self.stage, self.times_run) for p in self.patterns):
            self.say(remark_text(remark))


class Warnings(Watcher):
    """Prints remarks that are warnings, that what the user wrote has no effect, by calls of `say`."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say

    def remark(self, remark: Remark) -> None:
        if remark.data.get("warning"):
            self.say(shown(f"warning: {remark.message}"))


def remark_text(remark: Remark) -> str:
    """Return a remark on one line, and one more for each entry of a figure that is a list; of several source names the first and the number
    of others.
    """
    first, *others = remark.location or ("?",)
    more = f" (+{len(others)})" if others else ""
    figures = "".join(f" {name}={value}" for name, value in remark.data.items() if not isinstance(value, list))
    entries = "".join(f"\n    {shown(_entry(row))}" for value in remark.data.values() if isinstance(value, list) for row in value)
    return shown(f"remark: {first}{more}: {remark.pass_name}: {remark.kind}: {remark.message}{figures}") + entries


def _entry(row: object) -> str:
    return ", ".join(f"{name} {value}" for name, value in row.items()) if isinstance(row, dict) else str(row)
