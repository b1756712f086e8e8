"""The instrument that counts what passes did."""

from __future__ import annotations

from collections import Counter

from ttc.dialects.core.watching import Named, Report, Subject
from ttc.instruments.base import PassWatcher


class Statistics(PassWatcher):
    """Counts how often each named rewrite of each pass happened, over all runs of the pass.

    Attributes: counts: by (stage, pass, rewrite), in the order in which they first happened.
    """

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[tuple[str, str, str]] = Counter()

    def after(self, pass_: Named, unit: Subject, report: Report) -> None:
        for name, count in report.rewrites.items():
            self.counts[self.stage, pass_.name, name] += count

    def rows(self) -> list[tuple[str, str, str, int]]:
        """Return (stage, pass, rewrite, count), of rewrites that happened."""
        return [(*key, count) for key, count in self.counts.items() if count]
