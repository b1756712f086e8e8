"""The command `ttc view`: one HTML file that shows what the compiler did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ttc.cli.console import Console
from ttc.cli.options import FILE, verbosity
from ttc.dialects.core.errors import Error
from ttc.options import RunOptions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ttc.comparison.layers import Layers
    from ttc.runtime.executor import Executor

SEED = 0
"""The seed of the inputs with which an archive is run where none are given."""


@click.command("view")
@click.argument("archive", type=FILE, required=False)
@click.argument("other", type=FILE, required=False)
@click.option("--dump", type=FILE, metavar="DIR", help="What ttc compile --dump wrote: stages and passes are shown, too.")
@click.option("--check", type=FILE, metavar="MODEL", help="Run ARCHIVE, and compare every node with its value in MODEL.")
@click.option("--profile", is_flag=True, help="Run ARCHIVE on this machine, and show its jobs over time.")
@click.option("--program", metavar="NAME", default="forward", show_default=True, help="Program that --check and --profile run.")
@click.option("--inputs", type=FILE, metavar="FILE.npz", help="Inputs of that run; default: random ones.")
@click.option("-o", "--output", type=FILE, metavar="FILE.html", help="Page to write; default: the archive's name, in this folder.")
@click.option("--open", "opens", is_flag=True, help="Open the page in a browser.")
@click.option("--serve", is_flag=True, help="Serve the page on this machine instead, anew whenever the dump grows, until Ctrl-C.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of --serve; default: one that is free.")
@verbosity
@click.pass_obj
def command(console: Console, archive: Path | None, other: Path | None, **asked: Any) -> int:
    """Write a page that shows ARCHIVE (.tti): graphs of all stages, passes, placement, memory, time and numbers.

    The page is one file and needs no network.  With OTHER it shows how that archive differs.
    """
    dump: Path | None = asked["dump"]
    if archive is None and dump is None:
        raise Error("E0101", "there is nothing to show", hint="ttc view m.tti, or --dump DIR, or both")
    if archive is None and (asked["check"] is not None or asked["profile"]):
        raise Error("E0101", "--check and --profile run an archive", hint="ttc view m.tti --check MODEL")
    if asked["serve"]:
        return _serve(console, archive, dump, asked["port"], asked["opens"])
    return _write(console, archive, other, asked)


def _write(console: Console, archive: Path | None, other: Path | None, asked: dict[str, Any]) -> int:
    from ttc.inputs.files import require_input, require_output, write_bytes
    from ttc.view.document import ViewParts, document, opened
    from ttc.view.dumped_passes import DumpedPasses
    from ttc.view.page import page

    dump: Path | None = asked["dump"]
    named = archive or dump
    assert named is not None
    output: Path = asked["output"] or Path(f"{named.name.removesuffix('.tti')}.html")
    require_output(output, archive)
    first = None if archive is None else opened(require_input(archive))
    second = None if other is None else opened(require_input(other))
    passes = None if dump is None else DumpedPasses(dump)
    layers = profile = None
    if first is not None and (asked["check"] is not None or asked["profile"]):
        layers, profile = _runs(console, first.path, asked)
    text = page(document(ViewParts(first, passes, second, layers, profile, title=named.name.removesuffix(".tti")))).encode()
    write_bytes(output, text)
    if not console.quiet:
        console.say(f"{output}: {len(text) / 1e6:.1f} MB")
    if asked["opens"]:
        click.launch(output.resolve().as_uri())
    return 0


def _runs(console: Console, path: Path, asked: dict[str, Any]) -> tuple[Layers | None, dict[str, Any] | None]:
    """Errors by node, and jobs over time, of a run of the archive; None for what was not asked for."""
    from ttc.api import load
    from ttc.cli.inputs import gather, known_inputs
    from ttc.runtime.arguments import inputs_of

    name = asked["program"]
    with console.progress() as progress:
        progress.show(f"loading {path.name}")
        with load(path, on_compile=progress.compiling) as executor:
            signature = inputs_of(executor.program.entry(name))
            inputs = gather(signature, (), asked["inputs"], random=True, seed=SEED, fixed=known_inputs(executor, signature))
            profile = _profiled(executor, inputs.arrays, name) if asked["profile"] else None
            layers = _layers(executor, inputs.arrays, name, asked["check"], progress.show) if asked["check"] is not None else None
    return layers, profile


def _profiled(executor: Executor, inputs: Mapping[str, NDArray], name: str) -> dict[str, Any]:
    from ttc.reports.profiling import profile
    from ttc.reports.roofline import measured_roofline
    from ttc.runtime.cpu import available_cores
    from ttc.view.run_costs import profiled

    return profiled(profile(executor.program, inputs, name, runs=2)[-1], measured_roofline(available_cores()))


def _layers(executor: Executor, inputs: Mapping[str, NDArray], name: str, model: Path, say: Callable[[str], None]) -> Layers:
    from ttc.comparison.layers import LayerComparison, compare_layers
    from ttc.comparison.reference_outputs import exactness_of

    outputs = executor.run(dict(inputs), name)
    exactness = exactness_of(executor.description.options, [str(array.dtype) for array in outputs.values()])
    return compare_layers(LayerComparison(executor.netlist, executor.description, model, inputs, outputs, RunOptions(), exactness, say))


def _serve(console: Console, archive: Path | None, dump: Path | None, port: int, opens: bool) -> int:
    from ttc.view.serve import serve

    return serve(archive, dump, port, lambda address: _served(console, address, opens))


def _served(console: Console, address: str, opens: bool) -> None:
    console.say(f"{address} (Ctrl-C ends it)")
    console.flush()
    if opens:
        click.launch(address)
