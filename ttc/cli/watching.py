"""What commands that run the pipeline share: its instruments, and their tables at the end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ttc.cli.console import Console, time_text
from ttc.dialects.core.errors import Error
from ttc.options import CompileOptions, DebugOptions, WatchOptions

if TYPE_CHECKING:
    from ttc.instruments.crash_watch import CrashWatch
    from ttc.instruments.timing import StageTime
    from ttc.passes.base import Instrument


def instruments(console: Console, options: DebugOptions, show: Callable[[str], None], *, partial: bool = False) -> list[Instrument]:
    """Return the instruments that the options ask for, the line of progress, and remarks: all of them with -v, else warnings alone.

    partial: as for the chosen instruments.
    """
    from ttc.instruments.chosen import chosen_instruments
    from ttc.instruments.progress import PassProgress
    from ttc.instruments.remarks import Remarks, Warnings

    remarks = Remarks(console.note) if console.verbose and not options.remarks else Warnings(console.note)
    return [PassProgress(show), remarks, *chosen_instruments(options, console.asked, partial=partial)]


@contextmanager
def reproducing(console: Console, model: Path, options: CompileOptions, debug: DebugOptions) -> Iterator[CrashWatch]:
    """Leave a folder in the current one if a pass crashes inside; the watcher must be among the instruments of the compilation."""
    from ttc.instruments.crash_watch import CrashWatch

    watch = CrashWatch()
    try:
        yield watch
    except Exception as error:
        if not isinstance(error, Error) or error.code == "E0901" or debug.reproduce:
            from ttc.debug.crash import write_crash

            command = ["ttc", *sys.argv[1:]]
            folder = write_crash(Path(), model, options, watch, command, with_weights=debug.with_weights)
            if folder is not None:
                console.asked(f"note: to run pass {watch.run} again: ttc repro {folder}; to make its input smaller: ttc reduce {folder}")
        raise


def report(console: Console, options: WatchOptions, watchers: Sequence[object], stages: Sequence[StageTime], *, note: bool = False) -> None:
    """Print tables of times and statistics, or write the trace, as far as they were asked for.  note: to stderr. Raises E0103."""
    from ttc.inputs.files import write_bytes
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
