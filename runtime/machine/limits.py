"""What a run may use at most: a netlist that somebody else wrote may loop for ever or fill the memory."""

from __future__ import annotations

from dataclasses import dataclass

from ttc.dialects.core.errors import Error

FEWER = "lower the loop counts: --param"


@dataclass(frozen=True)
class Limits:
    """What a run may use.

    steps: instructions; microbatches: of all graphs, and entries that the host pushes; size_bytes: of entries alive at a time;
    work: multiplications and elements.
    """

    steps: int = 1_000_000
    microbatches: int = 1_000_000
    size_bytes: int = 8 << 30
    work: int = 5 * 10**13


UNBOUNDED = Limits(steps=10_000_000, microbatches=10_000_000, size_bytes=1 << 62, work=1 << 62)
"""The limits of a run of a compiled program: its instructions and microbatches are bounded, its memory is the program's own."""


class Meter:
    """Counts what a run has used, and stops it at the limits."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.steps = 0
        self.microbatches = 0
        self.size_bytes = 0
        self.work = 0
        self.pushed = 0

    def step(self) -> None:
        """Count one instruction.  Raises E0805."""
        self.steps += 1
        self.foresee(0)

    def foresee(self, steps: int) -> None:
        """Count instructions that are going to run. Raises E0805 if they pass the limit."""
        if self.steps + steps > self.limits.steps:
            raise Error("E0805", f"the programs do not end within {self.limits.steps} instructions", hint=FEWER)

    def epoch(self, microbatches: int, work: int) -> None:
        """Count graphs that are about to run. work: of each microbatch. Raises E0805."""
        self.microbatches += microbatches
        self.work += microbatches * work
        if self.microbatches > self.limits.microbatches:
            raise Error("E0805", f"the programs run more than {self.limits.microbatches} microbatches", hint=FEWER)
        if self.work > self.limits.work:
            raise Error("E0805", f"the programs need more than {self.limits.work:.0e} multiplications", hint=FEWER)

    def entries(self, count: int) -> None:
        """Count entries that the host is about to push. Raises E0805."""
        self.pushed += max(count, 0)
        if self.pushed > self.limits.microbatches:
            raise Error("E0805", f"the programs read more than {self.limits.microbatches} entries", hint=FEWER)

    def fits(self, elements: int, where: str) -> None:
        """Check that further tensors of so many elements fit into memory. Raises E0805."""
        if 4 * elements > self.limits.size_bytes - self.size_bytes:
            raise Error("E0805", f"{elements:,} elements do not fit the memory that a run may have", where)

    def hold(self, size_bytes: int, where: str) -> None:
        """Count the bytes of an entry that is kept. Raises E0805."""
        self.size_bytes += size_bytes
        if self.size_bytes > self.limits.size_bytes:
            message = f"the entries that the run must keep take more than {self.limits.size_bytes >> 20} MB"
            raise Error("E0805", message, where, "lower the loop counts, or run without --output-dir")

    def release(self, size_bytes: int) -> None:
        """Give back the bytes of an entry that is no longer kept."""
        self.size_bytes -= size_bytes
