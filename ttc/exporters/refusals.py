"""Ops that a format has no form of: found all at once, and told with the names that they have in the model."""

from __future__ import annotations

from collections.abc import Iterable

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Work
from ttc.dialects.core.records import record

SHOWN = 8
"""The most ops that the text of an error names."""


@record
class RefusedOp:
    """An op that cannot be exported: its name, its names in the model, and why."""

    op: str
    sources: tuple[str, ...]
    why: str

    @staticmethod
    def of(work: Work, why: str) -> RefusedOp:
        """Refuse a work for a reason."""
        return RefusedOp(work.op, work.location, why)

    def line(self) -> str:
        """Return `nn.lu (node_lu): the device has no factorizations`."""
        names = f" ({', '.join(self.sources)})" if self.sources else ""
        return f"{self.op}{names}: {self.why}"


@record(frozen=False)
class RefusedOps(Error):
    """The error that names all ops that an exporter has no rule of."""

    rows: tuple[RefusedOp, ...] = ()


def require_none(format_: str, refused: Iterable[RefusedOp]) -> None:
    """Raises E0503, which names every op that was refused."""
    rows = tuple(refused)
    if not rows:
        return
    lines = [row.line() for row in rows[:SHOWN]] + ([f"and {len(rows) - SHOWN} more"] if len(rows) > SHOWN else [])
    plural = "op" if len(rows) == 1 else "ops"
    error = RefusedOps("E0503", f"{format_} has no form of {len(rows)} {plural}: {'; '.join(lines)}")
    error.rows = rows
    raise error
