"""`ttc passes`."""

from __future__ import annotations

import dataclasses
import inspect
from typing import TYPE_CHECKING

import click

from ttc.cli.console import Console
from ttc.cli.options import options_from, verbosity
from ttc.options import CompileOptions

if TYPE_CHECKING:
    from ttc.passes.base import Pass


@click.command("passes")
@click.option("--target", metavar="NAME", help="Machine whose pipeline is listed.  Default: n150.")
@click.option("--format", metavar="FORMAT", help="As for `ttc compile`.")
@click.option("--kernels", metavar="KERNELS", help="As for `ttc compile`.")
@click.option("--precision", metavar="PRECISION", help="As for `ttc compile`.")
@verbosity
@click.pass_obj
def command(console: Console, **raw: str | None) -> int:
    """List the passes of each stage in the order in which they run, with their options."""
    from ttc.dialects.core.targets import load_target
    from ttc.driver import configured
    from ttc.passes.pipeline import stages

    options = options_from(CompileOptions, raw, None)
    target = configured(load_target(options.target), options)
    pipeline = stages(target, options.storage_format, options.precision, options.rules)
    rows = [[stage, index, p.name, _options(p), _summary(p)] for stage, passes in pipeline.items() for index, p in enumerate(passes, 1)]
    console.table(["stage", "nr", "pass", "options", "what it does"], rows)
    return 0


def _options(pass_: Pass) -> str:
    if not dataclasses.is_dataclass(pass_):
        return ""
    return " ".join(f"{f.name}={_value(getattr(pass_, f.name))}" for f in dataclasses.fields(pass_))


def _value(value: object) -> str:
    """A short text of an option; a machine by its name."""
    return str(getattr(value, "name", value))


def _summary(pass_: Pass) -> str:
    """The first line of the docstring."""
    return (inspect.getdoc(type(pass_)) or "").split("\n", 1)[0]
