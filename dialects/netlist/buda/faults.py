"""What is wrong with a netlist in the Buda format, up to a limit: a file can have millions of faults with names of any length."""

from __future__ import annotations

from ttc.dialects.netlist.violations import Findings, Violation

MAX_FAULTS = 10_000


class Faults(Findings):
    """The faults found so far; from MAX_FAULTS on no more are recorded."""

    @property
    def full(self) -> bool:
        """Whether no more is recorded."""
        return len(self.violations) >= MAX_FAULTS

    def add(self, code: str, where: str, message: str, hint: str | None = None) -> None:
        """Record that a rule is broken, unless as many faults were found as are reported."""
        if not self.full:
            self.violations.append(Violation(code, where, message, hint))

    def require(self, holds: bool, code: str, where: str, message: str, hint: str | None = None) -> bool:
        """Record a broken rule unless it holds; returns whether it does."""
        if not holds:
            self.add(code, where, message, hint)
        return holds
