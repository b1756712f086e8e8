"""The command `ttc reduce`: IR made smaller while a pass fails on it."""

from __future__ import annotations

from pathlib import Path

import click

from ttc.cli.console import Console
from ttc.cli.options import FILE, verbosity


@click.command("reduce")
@click.argument("folder", type=FILE, metavar="ttc-crash-...")
@click.option("-o", "--output", type=FILE, metavar="DIR", help="Folder to write.  Default: the name of the crash's with -reduced.")
@verbosity
@click.pass_obj
def command(console: Console, folder: Path, output: Path | None) -> int:
    """Make the IR of a crash smaller, while its pass fails in the same way: fewer ops, smaller dimensions."""
    from dataclasses import replace

    from ttc.debug.crash import read_crash, save
    from ttc.debug.reduce import Reduction
    from ttc.inputs.files import require_folder

    crash = read_crash(folder)
    output = require_folder(output or folder.with_name(f"{folder.name}-reduced"))
    with console.progress() as progress:
        reduction = Reduction(crash, progress.show)
        before = reduction.ops()
        text = reduction.run()
    save(replace(reduction.crash, text=text), output)
    console.say(f"{output}: {reduction.ops()} ops of {before}, {reduction.trials} trials")
    return 0
