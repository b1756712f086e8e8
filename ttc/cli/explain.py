"""The command `ttc explain`: the long form of an error code."""

from __future__ import annotations

import click

from ttc.cli.console import Console
from ttc.cli.options import verbosity


@click.command("explain")
@click.argument("code", required=False)
@verbosity
@click.pass_obj
def command(console: Console, code: str | None) -> int:
    """Say what an error CODE such as E0412 means, why it comes, and what helps; without a code list all of them."""
    from ttc.dialects.core.errors import CODES
    from ttc.reports.explanations import explanation

    if code is None:
        console.table(["code", "meaning"], list(CODES.items()))
        return 0
    found = explanation(code.upper())
    console.text(f"{found.code}: {found.meaning}\n\nWhy: {found.why}\n\nWhat helps: {found.remedy}")
    return 0
