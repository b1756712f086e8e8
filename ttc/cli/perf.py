"""The command `ttc perf`: estimated performance of a netlist."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ttc.cli.console import Console
from ttc.cli.options import FILE, verbosity
from ttc.dialects.core.errors import Error

if TYPE_CHECKING:
    from ttc.dialects.netlist.model import Netlist
    from ttc.runtime.perf.run import RunCost

SHOWN_OPS = 200
"""The rows of the table of ops, unless -v asks for all."""
NETLIST_SUFFIXES = (".yaml", ".yml")


@click.command("perf")
@click.argument("file", type=FILE)
@click.option("--program", metavar="NAME", help="Program to cost.  Default: the first.")
@click.option("--param", "params", multiple=True, metavar="NAME=N", help="Value of a parameter of the program (repeatable).  Default: 1.")
@click.option("--arch", metavar="ARCH", help="Architecture to take a Buda netlist for; the first that it names if not given.")
@click.option(
    "--host-rate",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="Elements of inputs that the host converts and lays in tiles a second.  Default: as many as its link to the device takes.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@click.option("--trace", type=FILE, metavar="FILE.json", help="Write a trace of cores and epochs, which Perfetto opens.")
@verbosity
@click.pass_obj
def command(
    console: Console,
    file: Path,
    program: str | None,
    params: tuple[str, ...],
    arch: str | None,
    host_rate: float | None,
    as_json: bool,
    trace: Path | None,
) -> int:
    """Estimate what FILE, an archive (.tti) or a Buda netlist (.yaml), costs on its device.

    Status 1: an epoch comes to a standstill because a buffer is too small.
    """
    from ttc.cli.app import EXIT_COMPARISON
    from ttc.inputs.files import require_input, require_output, write_bytes
    from ttc.runtime.perf.report import as_json as plain
    from ttc.runtime.perf.report import deadlocks
    from ttc.runtime.perf.run import run_cost
    from ttc.runtime.perf.trace import as_trace

    require_input(file)
    if trace is not None:
        require_output(trace, file)
    netlist = _netlist(console, file, arch)
    cost = run_cost(netlist, program, dict(_param(text) for text in params), host_rate)
    if trace is not None:
        write_bytes(trace, json.dumps(as_trace(cost), separators=(",", ":"), allow_nan=False).encode())
    console.json(plain(cost)) if as_json else _print(console, cost)
    jams = deadlocks(cost)
    for jam in jams:
        console.error(f"deadlock: {jam}")
    return EXIT_COMPARISON if jams else 0


def _netlist(console: Console, file: Path, arch: str | None) -> Netlist:
    """Return the netlist of an archive, checked, or the plain one that a Buda netlist amounts to, which may break rules of the format."""
    if file.suffix.lower() in NETLIST_SUFFIXES:
        from ttc.dialects.netlist.buda.reader import read_netlist
        from ttc.dialects.netlist.buda.rules.check import check_form
        from ttc.dialects.netlist.buda.to_netlist import to_netlist

        form = read_netlist(file)
        broken = len(check_form(form, arch))
        if broken:
            console.note(f"note: {broken} rules of the format are broken; ttc netlist check {file} lists them")
        return to_netlist(form, arch)
    from ttc.dialects.netlist.checks import require_valid
    from ttc.runtime.archive import open_archive
    from ttc.runtime.read_file import in_file

    if arch is not None:
        raise Error("E0101", "--arch is for Buda netlists: an archive is for one machine")
    netlist = open_archive(file, verify_tensors=False).netlist()
    with in_file(file):
        require_valid(netlist)
    return netlist


def _param(text: str) -> tuple[str, int]:
    name, equals, value = text.partition("=")
    if not name or not equals or not (value.isascii() and value.isdecimal() and len(value) <= 9):
        raise Error("E0101", f"--param {text[:40]}: it takes NAME=N, N a number of at most nine digits")
    return name, int(value)


def _print(console: Console, cost: RunCost) -> None:
    from ttc.runtime.perf.report import EPOCH_COLUMNS, OP_COLUMNS, epoch_rows, op_rows, run_lines

    rows = op_rows(cost)
    shown = rows if console.verbose else rows[:SHOWN_OPS]
    console.say(f"ops, in cycles a microbatch ({1e9 / cost.clock_hz:.3g} ns a cycle):")
    console.table(OP_COLUMNS, shown)
    if len(shown) < len(rows):
        console.say(f"... and {len(rows) - len(shown):,} ops more (-v shows all)")
    console.say("epochs, in cycles: interval and stall a microbatch, the others a run of the epoch:")
    console.table(EPOCH_COLUMNS, epoch_rows(cost))
    for line in run_lines(cost):
        console.paragraph(line)
