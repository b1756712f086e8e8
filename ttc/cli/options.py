"""Flags from the option classes, and the flags that every command has."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ttc.cli.console import Console
from ttc.options import Options, OptionsT, flag_of, key_of, resolve, settings, variable_of

CommandT = TypeVar("CommandT", bound=Callable[..., Any])
FILE = click.Path(path_type=Path)


def flags_of(cls: type[Options]) -> Callable[[CommandT], CommandT]:
    """One flag for each field of an option class, and --config; the command gets raw values by field name, None where not given."""

    def decorate(command: CommandT) -> CommandT:
        declared = [
            click.option(
                flag_of(item.name),
                item.name,
                **({"is_flag": True, "default": None} if setting.switch else {"metavar": setting.metavar, "multiple": setting.repeated}),
                help=f"{setting.help}{_default_text(item.default)}  [{variable_of(item.name)}; {cls.TABLE}.{key_of(item.name)}]",
            )
            for item, setting in settings(cls)
        ]
        declared.append(click.option("--config", type=FILE, metavar="FILE", help=f"TOML file; this command reads its table [{cls.TABLE}]."))
        for option in reversed(declared):
            command = option(command)
        return command

    return decorate


def _default_text(default: object) -> str:
    return "" if default in (None, (), False) else f"  Default: {default}."


def options_from(cls: type[OptionsT], raw: dict[str, Any], config: Path | None) -> OptionsT:
    """The options that flags, the process's variables and the TOML file amount to.  Raises E0101, E0102."""
    from ttc.files import read_config

    explicit = {name: value for name, value in raw.items() if value not in (None, ())}
    return resolve(cls, explicit, os.environ, read_config(config) if config is not None else None)


def verbosity(command: CommandT) -> CommandT:
    """-v and -q."""
    quiet = click.option("-q", "--quiet", is_flag=True, expose_value=False, callback=_set_quiet, help="Print errors only.")
    more = click.option(
        "-v", "--verbose", count=True, expose_value=False, callback=_set_verbose, help="Print remarks and timings; tracebacks of errors."
    )
    return more(quiet(command))


def _set_verbose(ctx: click.Context, parameter: click.Parameter, value: int) -> None:
    if value:
        ctx.find_object(Console).verbosity = value  # pyright: ignore[reportOptionalMemberAccess]


def _set_quiet(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        ctx.find_object(Console).verbosity = -1  # pyright: ignore[reportOptionalMemberAccess]
