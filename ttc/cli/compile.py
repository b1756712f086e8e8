"""The command `ttc compile`: from a model to an archive, or to IR."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ttc.cli.console import Console, size_text, time_text
from ttc.cli.examples import example_flags, with_examples
from ttc.cli.options import FILE, flags_of, options_from, verbosity
from ttc.cli.watching import instruments, report, reproducing
from ttc.compiler.training_keywords import gradient_checks
from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.options import CompileOptions, DebugOptions
from ttc.settings.train_options import TrainOptions

if TYPE_CHECKING:
    from ttc.cli.progress import Progress
    from ttc.compiler.driver import Compilation
    from ttc.passes.base import Instrument


@click.command("compile")
@click.argument("model", type=FILE)
@click.option(
    "-o",
    "--output",
    type=FILE,
    metavar="OUT",
    help="Archive to write (.tti), or IR text with --to (.mlir; - for stdout); default: the model's name, in this folder.",
)
@example_flags
@click.option("--emit-netlist", "yaml", type=FILE, metavar="FILE.yaml", help="Write the netlist in the Buda format, too (--kernels buda).")
@click.option("--emit-values", "bundle", type=FILE, metavar="FILE.npz", help="Write what the host puts into its rams, with --emit-netlist.")
@click.option("--precompile", is_flag=True, help="Compile the kernels for this CPU now, into the cache, rather than with the first run.")
@click.option("--precompile-dir", type=FILE, metavar="DIR", help="Compile them into this folder, for run --precompiled DIR.")
@flags_of(CompileOptions, TrainOptions, DebugOptions)
@verbosity
@click.pass_obj
def command(
    console: Console, model: Path, output: Path | None, yaml: Path | None, bundle: Path | None, config: Path | None, **raw: Any
) -> int:
    """Compile MODEL (.onnx, .pt2, .tflite, .keras, the folder of a SavedModel, or IR text .mlir) into an archive."""
    from ttc.inputs.files import STDOUT, require_model, require_output
    from ttc.process.platform import require_supported

    require_supported()
    precompile, folder = raw.pop("precompile"), raw.pop("precompile_dir")
    trained = options_from(TrainOptions, raw, config)
    options = replace(with_examples(options_from(CompileOptions, raw, config), raw), training=trained if trained.wanted else None)
    require_model(model)
    if options.to != "tti" and (precompile or folder is not None):
        raise Error("E0101", "kernels are those of an archive", hint="leave out --to, or --precompile")
    output = output or default_output(model, options)
    printed = output == STDOUT and options.to != "tti"
    if not printed:
        require_output(output, model)
    emission = _emission(options, model, yaml, bundle)
    debug = options_from(DebugOptions, raw, config)
    with console.progress() as progress, reproducing(console, model, options, debug) as watch:
        watchers = [watch, *gradient_checks(options.training), *instruments(console, debug, progress.show)]
        result = _compile(progress.show, model, None if printed else output, options, emission, watchers, debug)
        if precompile or folder is not None:
            _precompile(progress, output, folder)
    if printed:
        console.text(result.text().rstrip("\n"))
    elif not console.quiet:
        _print_summary(console, result, output)
    report(console, debug, watchers, result.times)
    return 0


def default_output(model: Path, options: CompileOptions) -> Path:
    """Return a file in the current folder, named after the model: `resnet.onnx` becomes `resnet.tti`, or `resnet.mlir` with --to."""
    stem = model.resolve().name if model.is_dir() else model.stem
    return Path(f"{stem}.{'tti' if options.to == 'tti' else 'mlir'}")


@record
class Emission:
    """The files that a Buda netlist is written to."""

    yaml: Path
    bundle: Path | None


def _emission(options: CompileOptions, model: Path, yaml: Path | None, bundle: Path | None) -> Emission | None:
    """The files to write beside the archive.  Raises E0101 where there will be no netlist of Buda, E0103."""
    from ttc.inputs.files import require_output

    if yaml is None:
        if bundle is not None:
            raise Error("E0101", "--emit-values writes values of a Buda netlist", hint="add --emit-netlist FILE.yaml")
        return None
    if options.to != "tti" or options.kernels != "buda":
        raise Error("E0101", "--emit-netlist writes netlists that are made of Buda's ops", hint="compile with --kernels buda, to the end")
    return Emission(require_output(yaml, model), None if bundle is None else require_output(bundle, model))


def _compile(
    show: Callable[[str], None],
    model: Path,
    output: Path | None,
    options: CompileOptions,
    emission: Emission | None,
    watchers: Sequence[Instrument],
    debug: DebugOptions,
) -> Compilation:
    """Compile, and write the result into a file if there is one."""
    from ttc.compiler.driver import compile_path
    from ttc.inputs.files import write_bytes

    show(f"reading {model.name}")
    result = compile_path(model, options, watchers, count_ops=debug.timing is not None)
    if output is None:
        return result
    show(f"writing {output.name}")
    if result.package is None:
        write_bytes(output, result.text().encode())
    else:
        _save(result, output, emission)
    return result


def _save(result: Compilation, output: Path, emission: Emission | None) -> None:
    """Write the archive, and the Buda netlist if it is asked for; what cannot be exported leaves nothing behind."""
    if emission is None:
        result.save(output)
        return
    from ttc.dialects.netlist.buda.writer import write_netlist
    from ttc.exporters.buda.export import export
    from ttc.exporters.buda.values import bundle_of
    from ttc.inputs.files import write_bytes

    program = result.program()
    exported = export(program.netlist, program.description)
    text = write_netlist(exported.form).encode()
    values = None if emission.bundle is None else bundle_of(exported, program)
    program.save(output)
    write_bytes(emission.yaml, text)
    if emission.bundle is not None and values is not None:
        write_bytes(emission.bundle, values)


def _precompile(progress: Progress, archive: Path, folder: Path | None) -> None:
    """Compile the kernels of an archive into a folder, or into the cache.  Raises E0103 where nothing can be kept."""
    from ttc.runtime.engines.native.codegen.kernel_folders import KernelFolders
    from ttc.runtime.loader import load_program

    progress.show("compiling kernels for this CPU")
    folders = KernelFolders(folder, fill=folder is not None, told=progress.compiling)
    if (reason := folders.store().reason) is not None:
        raise Error("E0103", f"compiled kernels cannot be kept: {reason}")
    load_program(archive, engine="native", kernels=folders)


def _print_summary(console: Console, result: Compilation, output: Path) -> None:
    rows = [[t.stage, t.ops, time_text(t.seconds), f"{t.microseconds_per_op:.0f} us"] for t in result.times]
    console.table(["stage", "ops", "time", "time/op"], rows)
    if console.verbose:
        passes = [[t.stage, p.name, time_text(p.seconds), sum(p.rewrites.values())] for t in result.times for p in t.passes]
        console.table(["stage", "pass", "time", "rewrites"], passes)
    if result.package is not None:
        console.say(netlist_line(result.package.netlist))
    console.say(f"{output}: {size_text(output.stat().st_size)}, stage {result.stage}, target {result.options.target}")


def netlist_line(netlist: Any) -> str:
    """Return a netlist's figures: `3 epochs, 57 ops, at most 64 of 72 cores (mean 51.0), DRAM 12.5 MB`."""
    from ttc.reports.netlist_summary import summarize

    figures = summarize(netlist)
    epochs = f"{len(figures.epochs)} epoch{'' if len(figures.epochs) == 1 else 's'}, {figures.ops} ops"
    if not figures.grid_cores:
        return epochs
    chips = f"on {figures.chips} chips, " if figures.chips > 1 else ""
    cores = f"{chips}at most {figures.cores_used} of {figures.grid_cores} cores (mean {figures.cores_mean:.1f})"
    return f"{epochs}, {cores}, DRAM {size_text(sum(figures.dram_bytes.values()))}"
