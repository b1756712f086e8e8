"""What commands that run the pipeline share: its instruments, and their tables at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ttc.cli.console import Console, time_text
from ttc.options import DebugOptions

if TYPE_CHECKING:
    from ttc.instruments.timing import StageTime
    from ttc.passes.base import Instrument


def instruments(console: Console, options: DebugOptions, show: Callable[[str], None]) -> list[Instrument]:
    """Those that the options ask for, the line of progress, and remarks: all of them with -v, else warnings alone."""
    from ttc.instruments.chosen import chosen_instruments
    from ttc.instruments.progress import PassProgress
    from ttc.instruments.remarks import Remarks, Warnings

    remarks = Remarks(console.note) if console.verbose and not options.remarks else Warnings(console.note)
    return [PassProgress(show), remarks, *chosen_instruments(options, console.note)]


def report(
    console: Console, options: DebugOptions, watchers: Sequence[Instrument], stages: Sequence[StageTime], *, note: bool = False
) -> None:
    """Tables of times and statistics, or the trace, as far as they were asked for.  note: to stderr.  Raises E0103."""
    from ttc.files import write_bytes
    from ttc.instruments.statistics import Statistics
    from ttc.instruments.timing import time_tree, trace_text

    if options.timing == "-":
        rows = [
            [
                "  " * row.depth + row.name,
                time_text(row.self_seconds),
                time_text(row.total_seconds),
                *("" if count is None else count for count in (row.ops_before, row.ops_after)),
                "" if row.microseconds_per_op is None else f"{row.microseconds_per_op:.1f}",
            ]
            for row in time_tree(stages)
        ]
        console.table(["stage, pass, part", "self", "total", "ops in", "ops out", "us/op"], rows, note=note)
    elif options.timing is not None:
        write_bytes(Path(options.timing), trace_text(stages).encode())
    for watcher in watchers:
        if isinstance(watcher, Statistics):
            console.table(["stage", "pass", "rewrite", "times"], watcher.rows(), note=note)
