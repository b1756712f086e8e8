"""Adds up the times of a trace by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ttc.dialects.core.records import record
from ttc.profiler.reading import Trace, is_time

COLUMNS = ("kind", "name", "calls", "total ms", "mean us", "share", "GFLOP/s", "GB/s")
SHOWN_ROWS = 40
"""The most rows in the text of a summary."""
UNNAMED = "other"
"""The kind of events without a category."""


@record
class SummaryRow:
    """Events of one kind and name.

    Args:
        micros: time of all of them; share: of the time of their kind.
        flops, bytes: of jobs, likewise added up.
    """

    kind: str
    name: str
    calls: int
    micros: float
    share: float
    flops: float = 0.0
    bytes: float = 0.0

    def cells(self) -> list[str]:
        """Return the texts of the columns."""
        rates = [f"{value / self.micros / 1e3:.1f}" if value and self.micros else "-" for value in (self.flops, self.bytes)]
        return [
            self.kind,
            self.name,
            str(self.calls),
            f"{self.micros / 1e3:.3f}",
            f"{self.micros / self.calls:.1f}",
            f"{self.share:.1%}",
            *rates,
        ]


@record
class Summary:
    """Times of a trace, by kind and name.

    Args:
        rows: the kind with the most time first, in each kind the longest first.
        processes: whose events they are.
        micros: from the first event to the end of the last.
    """

    rows: tuple[SummaryRow, ...]
    processes: int
    micros: float

    def as_dict(self) -> dict[str, Any]:
        """Return the summary as plain data for JSON."""
        rows = [
            {
                "kind": row.kind,
                "name": row.name,
                "calls": row.calls,
                "micros": row.micros,
                "share": row.share,
                "flops": row.flops,
                "bytes": row.bytes,
            }
            for row in self.rows
        ]
        return {"processes": self.processes, "micros": self.micros, "rows": rows}

    def __str__(self) -> str:
        table = [list(COLUMNS), *(row.cells() for row in self.rows[:SHOWN_ROWS])]
        widths = [max(len(row[i]) for row in table) for i in range(len(COLUMNS))]
        lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in table]
        return "\n".join(lines)


def summary_of(trace: Trace) -> Summary:
    """Return the times of a checked trace."""
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    sums: dict[tuple[str, str], list[float]] = {}
    for event in events:
        key = str(event.get("cat") or UNNAMED), str(event.get("name", ""))
        found = sums.setdefault(key, [0, 0.0, 0.0, 0.0])
        for index, value in enumerate((1, event.get("dur", 0), *_work(event))):
            found[index] += value
    kinds: dict[str, float] = {}
    for (kind, _), (_, micros, _, _) in sums.items():
        kinds[kind] = kinds.get(kind, 0.0) + micros
    rows = [
        SummaryRow(kind, name, int(calls), micros, micros / kinds[kind] if kinds[kind] else 0.0, flops, moved)
        for (kind, name), (calls, micros, flops, moved) in sums.items()
    ]
    rows.sort(key=lambda row: (-kinds[row.kind], row.kind, -row.micros, row.name))
    first = min((event["ts"] for event in events), default=0.0)
    last = max((event["ts"] + event.get("dur", 0) for event in events), default=0.0)
    return Summary(tuple(rows), len({event.get("pid", 0) for event in events}), last - first)


def _work(event: Mapping[str, Any]) -> tuple[float, float]:
    """Operations and bytes of a job."""
    args = event.get("args", {})
    found = [args.get(key, 0) for key in ("flops", "bytes")] if event.get("cat") == "job" else [0, 0]
    return tuple(value if is_time(value) else 0 for value in found)  # type: ignore[return-value]
