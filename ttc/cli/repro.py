"""The command `ttc repro`: a crash, run again from the folder that it left."""

from __future__ import annotations

from pathlib import Path

import click

from ttc.cli.console import Console
from ttc.cli.options import FILE, verbosity

EXIT_GONE, EXIT_SAME, EXIT_OTHER = 0, 1, 2


@click.command("repro")
@click.argument("folder", type=FILE, metavar="ttc-crash-...")
@verbosity
@click.pass_obj
def command(console: Console, folder: Path) -> int:
    """Run the pass of a crash again, on the IR that it left behind.

    Status: 0 if it no longer fails, 1 if it fails in the same way, 2 if in another.
    """
    import traceback

    from ttc.debug.crash import ErrorSignature, read_crash

    crash = read_crash(folder)
    error = crash.error()
    if error is None:
        console.say(f"{crash.passes}: it does not fail")
        return EXIT_GONE
    same = ErrorSignature.of(error) == crash.signature
    console.text(f"{crash.passes}: {'the same error' if same else 'another error'}: {type(error).__name__}: {error}")
    if console.verbose:
        console.asked("".join(traceback.format_exception(error)).rstrip())
    return EXIT_SAME if same else EXIT_OTHER
