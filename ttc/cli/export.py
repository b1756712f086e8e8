"""The command `ttc export`: models in other formats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ttc.cli.console import Console, size_text
from ttc.cli.options import FILE, options_from, verbosity
from ttc.dialects.core.numerics import BATCH, TENSOR
from ttc.exporters.request import ExportRequest
from ttc.exporters.table import EXPORTERS, exported, exporter
from ttc.options import CompileOptions


@click.command("export")
@click.argument("model", type=FILE)
@click.option(
    "--to", "format_", required=True, metavar="|".join(EXPORTERS), help="; ".join(f"{n}: {e.what}" for n, e in EXPORTERS.items()) + "."
)
@click.option("-o", "--output", type=FILE, metavar="OUT", help="File or folder to write; default: the model's name, in this folder.")
@click.option("--program", metavar="NAME", help="Which program of the model, where there are several.")
@click.option("--target", metavar="NAME|FILE.yaml", help="Machine that the result is for.  Default: an archive's own, else n150.")
@click.option(
    "--format", metavar="FORMAT", help="How tensors are stored, as for `ttc compile`; default: 16 bits for ttnn, the model's own else."
)
@click.option("--fidelity", metavar="FIDELITY", help="Passes of the device's multiplier, as for `ttc compile`.")
@click.option("--amp", metavar="0|1|2", help="Level of automatic mixed precision, as for `ttc compile` (ttnn, netlist).")
@click.option(
    "--precision-file", type=FILE, metavar="FILE.toml", help="Rules that set formats of weights and fidelity of single ops (ttnn, netlist)."
)
@click.option("--chips", metavar="N", help="Chips that divide the work (ttnn), or that a program is spread over (netlist).")
@click.option("--batch", metavar="N", help="Size of every dynamic leading dimension.")
@click.option("--shape", multiple=True, metavar="NAME=1x3x224x224", help="Shape of an input with dynamic dimensions (repeatable).")
@click.option(
    "--values", multiple=True, metavar="NAME=FILE.npy|NUMBER", help="Value of an integer input that shapes follow from (repeatable)."
)
@click.option("--weights", type=FILE, metavar="FILE", help="Archive or model that holds the weights of IR text.")
@click.option("--trace", is_flag=True, help="Functions that record the device's work and start it at once, for low latency (ttnn).")
@click.option(
    "--parallel",
    type=click.Choice((BATCH, TENSOR)),
    default=BATCH,
    help="What chips divide: rows of the batch, or the tensors of each layer (ttnn).  Default: batch.",
)
@verbosity
@click.pass_obj
def command(
    console: Console, model: Path, format_: str, output: Path | None, program: str | None, trace: bool, parallel: str, **raw: Any
) -> int:
    """Write MODEL (any that `ttc compile` takes, IR text, or an archive; for netlist one of Buda's kernels) in another format.

    An op that the format has no form of is named with its names in the model, all of them at once, before anything is written.
    """
    from ttc.inputs.files import require_folder, require_input, require_model, require_output, write_bytes
    from ttc.process.platform import require_supported

    require_supported()
    form = exporter(format_)
    options = options_from(CompileOptions, raw, None)
    (require_input if model.suffix.lower() == ".tti" else require_model)(model)
    output = output or _default_output(model, format_)
    if form.suffix is None:
        require_folder(output)
    else:
        require_output(output, model)
    with console.progress() as progress:
        progress.show(f"exporting {model.name}")
        files = exported(format_, model, ExportRequest(options, program, trace, parallel))
        progress.show(f"writing {output.name}")
        if form.suffix is None:
            output.mkdir(exist_ok=True)
        paths = {output / name if name else output: data for name, data in files.items()}
        for path in paths:
            require_output(path, model)  # all of them, before one is written
        for path, data in paths.items():
            write_bytes(path, data)
    listed = f" ({', '.join(files)})" if form.suffix is None else ""
    console.say(f"{output}: {size_text(sum(map(len, files.values())))}{listed}")
    return 0


def _default_output(model: Path, format_: str) -> Path:
    """Return the model's name with the format's suffix; for a folder with the format's name behind it."""
    stem = model.resolve().name if model.is_dir() else model.stem
    suffix = exporter(format_).suffix
    return Path(f"{stem}_{format_}" if suffix is None else f"{stem}{suffix}")
