"""The command `ttc targets`: the targets that ttc knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ttc.cli.console import Console, size_text
from ttc.cli.options import verbosity

if TYPE_CHECKING:
    from ttc.dialects.core.machines.targets import Target


@click.command("targets")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@verbosity
@click.pass_obj
def command(console: Console, as_json: bool) -> int:
    """List the machines that `--target` names; it takes a descriptor file as well."""
    from ttc.dialects.core.machines.targets import described, load_target, target_names

    targets = [load_target(name) for name in target_names()]
    if as_json:
        console.json([described(target) | {"cores": target.cores, "used_chips": 1} for target in targets])
        return 0
    columns = ["target", "architecture", "chips", "grid", "cores", "clock", "L1 of a core", "usable", "DRAM", "kernels", "formats"]
    console.table(columns, [_row(target) for target in targets])
    if not console.quiet:
        for target in targets:
            if target.chips > 1:
                console.say(
                    f"{target.name}: {target.chips} chips, of which a program uses one, or more with --chips; figures are of one chip"
                )
    return 0


def _row(target: Target) -> list[Any]:
    formats = ", ".join(target.formats)
    if target.grid is None:
        return [target.name, target.arch, target.chips, *["-"] * 6, target.kernels, formats]
    return [
        target.name,
        target.arch,
        target.chips,
        f"{target.grid[0]} x {target.grid[1]}",
        str(target.cores),
        f"{target.clock_hz / 1e9:.2f} GHz",
        size_text(target.l1_bytes),
        size_text(target.l1_usable_bytes),
        f"{target.dram_channels} x {size_text(target.dram_channel_bytes)}",
        target.kernels,
        formats,
    ]
