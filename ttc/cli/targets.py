"""`ttc targets`."""

from __future__ import annotations

import click

from ttc.cli.console import Console, size_text
from ttc.cli.options import verbosity


@click.command("targets")
@verbosity
@click.pass_obj
def command(console: Console) -> int:
    """List the machines that `--target` names."""
    from ttc.dialects.core.targets import load_target, target_names

    rows = []
    for name in target_names():
        target = load_target(name)
        grid = "-" if target.grid is None else f"{target.grid[0]} x {target.grid[1]}"
        dram = "-" if not target.dram_channels else f"{target.dram_channels} x {size_text(target.dram_channel_bytes)}"
        l1 = "-" if not target.l1_bytes else size_text(target.l1_bytes)
        rows.append([name, target.arch, target.chips, grid, l1, dram, target.kernels, ", ".join(target.formats)])
    console.table(["target", "architecture", "chips", "cores", "L1 of a core", "DRAM", "kernels", "formats"], rows)
    return 0
