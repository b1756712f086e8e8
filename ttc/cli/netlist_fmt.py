"""The command `ttc netlist fmt`: Buda netlists in a normal form."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ttc.cli.console import Console
from ttc.cli.options import FILE, verbosity
from ttc.dialects.core.errors import Error

if TYPE_CHECKING:
    from ttc.dialects.netlist.buda.form import BudaNetlist


@click.command("fmt")
@click.argument("netlist", type=FILE)
@click.option("-o", "--output", type=FILE, metavar="OUT", help="YAML file to write; without it and --ir the text goes to stdout.")
@click.option("--ir", "ir_file", type=FILE, metavar="OUT", help="Write the text of dialect netlist (.mlir) too; - for stdout.")
@click.option("--arch", metavar="ARCH", help="Architecture to take it for; the first that it names if not given.")
@verbosity
@click.pass_obj
def command(console: Console, netlist: Path, output: Path | None, ir_file: Path | None, arch: str | None) -> int:
    """Bring NETLIST, a YAML file in the Buda format, into one form: through dialect netlist and back.

    What is written reads back as the same netlist, which is proved before it is written; comments are lost.
    """
    from ttc.dialects.netlist.buda.reader import read_netlist
    from ttc.exporters.buda_round_trip import formatted
    from ttc.inputs.files import STDOUT, require_input, require_output, write_bytes

    require_input(netlist)
    for path in (output, None if ir_file == STDOUT else ir_file):
        if path is not None:
            require_output(path, netlist)
    if output is not None and output == ir_file:
        raise Error("E0103", f"cannot write {output}: it would hold YAML and IR")
    with console.progress() as progress:
        progress.show(f"reading {netlist.name}")
        form = read_netlist(netlist)
        _require_valid(form, arch)
        progress.show(f"formatting {netlist.name}")
        found = formatted(form, arch)
        ir = found.ir() if ir_file is not None else ""
    if ir_file is not None and ir_file != STDOUT:
        write_bytes(ir_file, ir.encode())
    if output is not None:
        write_bytes(output, found.text.encode())
    if ir_file == STDOUT:
        console.text(ir.rstrip("\n"))
    elif output is None and ir_file is None:
        console.text(found.text.rstrip("\n"))
    return 0


def _require_valid(form: BudaNetlist, arch: str | None) -> None:
    """Raises the first broken rule, if any."""
    from ttc.dialects.netlist.buda.rules.check import check_form

    violations = check_form(form, arch)
    if violations:
        first = violations[0]
        more = f" (and {len(violations) - 1} more: `ttc netlist check` lists them)" if len(violations) > 1 else ""
        raise Error(first.code, first.message + more, first.where, first.hint)
