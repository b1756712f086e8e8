"""The commands `ttc trace merge` and `ttc trace summary`: traces of several processes as one, and their times by name."""

from __future__ import annotations

from pathlib import Path

import click

from ttc.cli.console import Console
from ttc.cli.options import FILE, verbosity


@click.group("trace", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Merge traces (.json) of several processes, or sum up their times."""


@command.command("merge")
@click.argument("files", type=FILE, nargs=-1, required=True)
@click.option("-o", "--output", type=FILE, required=True, metavar="FILE.json", help="The trace to write.")
@verbosity
@click.pass_obj
def merge(console: Console, files: tuple[Path, ...], output: Path) -> None:
    """Make one trace of FILES, on one clock, with a process for each rank; traces of PyTorch's profiler may be among them."""
    from ttc.inputs.files import require_output
    from ttc.profiler.merging import merge as merged
    from ttc.profiler.profile import write_trace

    for file in files:
        require_output(output, file)
    found = merged(files)
    write_trace(output, found)
    events = found["traceEvents"]
    console.note(f"{output}: {len(events):,} events of {len({event['pid'] for event in events})} processes")


@command.command("summary")
@click.argument("file", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@verbosity
@click.pass_obj
def summary(console: Console, file: Path, as_json: bool) -> None:
    """Add up the times in FILE by kind and name: regions, runs, jobs with their rates, compilations, waits."""
    from ttc.profiler.reading import read_trace
    from ttc.profiler.summary import COLUMNS, SHOWN_ROWS, summary_of

    found = summary_of(read_trace(file))
    if as_json:
        console.json(found.as_dict())
        return
    rows = found.rows if console.verbose else found.rows[:SHOWN_ROWS]
    console.table(COLUMNS, [row.cells() for row in rows])
    if len(rows) < len(found.rows):
        console.say(f"... and {len(found.rows) - len(rows):,} rows more (-v shows all)")
    processes = "1 process" if found.processes == 1 else f"{found.processes} processes"
    console.say(f"{processes}, {found.micros / 1e3:,.3f} ms from the first event to the end of the last")
