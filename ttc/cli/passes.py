"""The command `ttc passes`: passes, stages, and what they do."""

from __future__ import annotations

import dataclasses
import inspect
from typing import TYPE_CHECKING, Any, cast

import click

from ttc.cli.console import Console
from ttc.cli.options import options_from, verbosity
from ttc.options import CompileOptions

if TYPE_CHECKING:
    from ttc.passes.base import Pass

BORDERS = {
    "nn": ("import", "nn"),
    "nn_to_tile": ("nn", "tile"),
    "tile": ("tile", "tile"),
    "tile_to_netlist": ("tile", "netlist"),
    "netlist": ("netlist", "netlist"),
}
"""The stages whose IR the passes in a folder take and give, by folder."""


@click.command("passes")
@click.argument("names", nargs=-1, metavar="[PASS]...")
@click.option("--all", "every", is_flag=True, help="List every pass by name, with its options, their types and defaults.")
@click.option("--pipeline", "as_text", is_flag=True, help="Print the pipeline as one text, which `ttc opt -p` takes.")
@click.option("--target", metavar="NAME", help="Machine whose pipeline is listed.  Default: n150.")
@click.option("--format", metavar="FORMAT", help="As for `ttc compile`.")
@click.option("--kernels", metavar="KERNELS", help="As for `ttc compile`.")
@click.option("--precision", metavar="PRECISION", help="As for `ttc compile`.")
@verbosity
@click.pass_obj
def command(console: Console, names: tuple[str, ...], every: bool, as_text: bool, **raw: str | None) -> int:
    """List the passes of each stage in the order in which they run; or say all about the PASSes named."""
    from ttc.compiler.driver import configured
    from ttc.dialects.core.machines.targets import load_target
    from ttc.passes.pipeline import PipelineSettings, stages
    from ttc.passes.pipeline_text import all_passes, make_pass, pass_text, pipeline_text

    if names:
        for name in names:
            make_pass(name, {})
            _describe(console, all_passes()[name])
        return 0
    if every:
        rows = [[name, *_borders(kind), _declared(kind), _summary(kind)] for name, kind in all_passes().items()]
        console.table(["pass", "takes", "gives", "options", "what it does"], rows)
        return 0
    options = options_from(CompileOptions, raw, None)
    target = configured(load_target(options.target), options)
    pipeline = stages(target, PipelineSettings(format=options.storage_format, precision=options.precision, rules=options.rules))
    if as_text:
        console.say(pipeline_text([p for passes in pipeline.values() for p in passes]))
        return 0
    rows = [[stage, index, pass_text(p), _summary(type(p))] for stage, passes in pipeline.items() for index, p in enumerate(passes, 1)]
    console.table(["stage", "nr", "pass", "what it does"], rows)
    return 0


def _describe(console: Console, kind: type[Pass]) -> None:
    taken, given = _borders(kind)
    console.say(f"{kind.name}: takes IR of stage {taken}, gives IR of stage {given}")
    console.text(f"options: {_declared(kind) or 'none'}\n")
    console.text(f"{inspect.getdoc(kind)}\n")


def _borders(kind: type[Pass]) -> tuple[str, str]:
    return BORDERS[kind.__module__.split(".")[2]]


def _declared(kind: type[Pass]) -> str:
    """Return options with their types and defaults."""
    from ttc.passes.pipeline_text import option_text, pass_options, type_text

    defaults = {item.name: item.default for item in dataclasses.fields(cast("Any", kind))} if dataclasses.is_dataclass(kind) else {}
    return "; ".join(f"{name}: {type_text(type_)} = {option_text(defaults[name])}" for name, type_ in pass_options(kind).items())


def _summary(kind: type[Pass]) -> str:
    """Return the first line of the docstring."""
    return (inspect.getdoc(kind) or "").split("\n", 1)[0]
