"""The command `ttc doctor`: what is there, and why something does not work."""

from __future__ import annotations

import os

import click

from ttc.cli.console import Console
from ttc.cli.options import verbosity

EXIT_UNWELL = 1


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@verbosity
@click.pass_obj
def command(console: Console, as_json: bool) -> int:
    """Look at packages, CPU, memory, caches, devices and variables, and say what does not work here, and what would help.

    Status 1: there is an error.
    """
    from ttc.reports.doctor import examine
    from ttc.reports.examined import ERROR

    found = examine(os.environ)
    if as_json:
        console.json([{"name": row.name, "state": row.state, "detail": row.detail, "hint": row.hint} for row in found])
    else:
        shown = [row for row in found if row.state != "ok"] if console.quiet else found
        console.table(("", "what", "found", "hint"), [(row.state, row.name, row.detail, row.hint or "") for row in shown], prose=True)
    return EXIT_UNWELL if any(row.state == ERROR for row in found) else 0
