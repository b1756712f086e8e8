"""What checks of a netlist find."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from itertools import islice

from ttc.dialects.core.errors import nearest
from ttc.dialects.core.records import record

MANY = 1000
"""Violations after which whole families of pairwise rules stop: nobody reads more, and a hostile netlist could have millions."""
MAX_HINTS = 20
MAX_NAMES = 2000
MAX_NAME_SHOWN = 80


@record(slots=True)
class Violation:
    """One broken rule.  code: of `core.errors.CODES`; where: queue, op, graph or program; hint: what would help."""

    code: str
    where: str
    message: str
    hint: str | None = None


@record(frozen=False)
class Findings:
    """The violations found so far."""

    violations: list[Violation] = field(default_factory=list)

    @property
    def many(self) -> bool:
        """Whether so much is wrong that more of it does not matter."""
        return len(self.violations) >= MANY

    def add(self, code: str, where: str, message: str, hint: str | None = None) -> None:
        """Record that a rule is broken."""
        self.violations.append(Violation(code, where, message, hint))

    def require(self, holds: bool, code: str, where: str, message: str, hint: str | None = None) -> bool:
        """Record a broken rule unless it holds; returns whether it does."""
        if not holds:
            self.violations.append(Violation(code, where, message, hint))
        return holds

    def nearest(self, word: str, words: Iterable[str]) -> str | None:
        """Return a hint naming the known word closest to an unknown one; only for the first violations, as the search is slow."""
        if len(self.violations) >= MAX_HINTS or len(word) > MAX_NAME_SHOWN:
            return None
        return nearest(word, (w for w in islice(words, MAX_NAMES) if len(w) <= MAX_NAME_SHOWN))
