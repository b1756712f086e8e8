"""The command `ttc netlist check`: the rules of netlists, applied to a Buda netlist."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ttc.cli.console import Console
from ttc.cli.options import FILE, verbosity

if TYPE_CHECKING:
    from ttc.dialects.netlist.buda.form import BudaNetlist
    from ttc.dialects.netlist.violations import Violation

EXIT_VALID, EXIT_VIOLATIONS = 0, 2


@click.command("check")
@click.argument("netlist", type=FILE)
@click.option("--arch", metavar="ARCH", help="Apply the rules of this architecture; without it those of all that the netlist lists.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@verbosity
@click.pass_obj
def command(console: Console, netlist: Path, arch: str | None, as_json: bool) -> int:
    """Check NETLIST, a YAML file in the Buda format, against the rules of the format and of the architectures it is for.

    Every violation is listed, and before them what is odd but not wrong, as warnings.  Status: 0 if there is none, 2 otherwise.
    """
    from ttc.dialects.netlist.buda.reader import read_form
    from ttc.dialects.netlist.buda.rules.check import check_form
    from ttc.inputs.files import require_input

    form, found = read_form(require_input(netlist))
    found = found + check_form(form, arch.lower() if arch is not None else None, found)
    archs = [arch.lower()] if arch is not None else list(form.archs)
    if as_json:
        console.json({"file": str(netlist), "valid": not found, **_figures(form, archs), **_listed(form, found)})
    else:
        _print(console, form, archs, found)
    return EXIT_VIOLATIONS if found else EXIT_VALID


def _figures(form: BudaNetlist, archs: Sequence[str]) -> dict[str, Any]:
    return {
        "archs": list(archs),
        "graphs": len(form.graphs),
        "ops": sum(len(graph.ops) for graph in form.graphs.values()),
        "queues": len(form.queues),
        "programs": len(form.programs),
        "fused_ops": len(form.fused_ops),
    }


def _listed(form: BudaNetlist, found: Sequence[Violation]) -> dict[str, Any]:
    return {"violations": [_plain(v) for v in found], "warnings": [_plain(v) for v in form.warnings]}


def _plain(violation: Violation) -> dict[str, Any]:
    return {"code": violation.code, "where": violation.where, "message": violation.message, "hint": violation.hint}


def _print(console: Console, form: BudaNetlist, archs: Sequence[str], found: Sequence[Violation]) -> None:
    from ttc.dialects.core.errors import Error
    from ttc.dialects.netlist.buda.faults import MAX_FAULTS
    from ttc.dialects.netlist.violations import MANY

    for warning in form.warnings[:MANY]:
        console.note(f"warning: {warning.where}: {warning.message}")
    for violation in found[:MANY]:
        console.error(str(Error(violation.code, violation.message, where=violation.where, hint=violation.hint)))
    if found:
        rest = f", of which the first {MANY} are listed" if len(found) > MANY else ""
        more = " or more" if len(found) >= MAX_FAULTS else ""
        console.error(f"{form.source}: {_counted(len(found), 'violation')}{more}{rest}")
        return
    counts = _figures(form, archs)
    listed = ", ".join(_counted(counts[key], key[:-1].replace("_", " ")) for key in ("graphs", "ops", "queues", "programs", "fused_ops"))
    console.say(f"{form.source}: valid for {', '.join(archs)}: {listed}")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
