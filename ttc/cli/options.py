"""Flags from the option classes, and the flags that every command has."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ttc.cli.console import Console
from ttc.options import resolve
from ttc.settings.records import Options, OptionsT, Setting, flag_of, key_of, settings, variable_of

CommandT = TypeVar("CommandT", bound=Callable[..., Any])
FILE = click.Path(path_type=Path)
PRECOMPILED = click.option(
    "--precompiled", type=FILE, metavar="DIR", help="Kernels made by ttc compile --precompile-dir: machine code, which is executed."
)


def flags_of(*classes: type[Options]) -> Callable[[CommandT], CommandT]:
    """Return one flag for each field of option classes, and --config; the command gets raw values by field name, None where not given."""

    def decorate(command: CommandT) -> CommandT:
        declared = [
            click.option(
                flag_of(item.name),
                item.name,
                **_form(setting),
                help=f"{setting.help}{_default_text(item.default)}  [{variable_of(item.name)}; {cls.TABLE}.{key_of(item.name)}]",
            )
            for cls in classes
            for item, setting in settings(cls)
        ]
        tables = " and ".join(f"[{cls.TABLE}]" for cls in classes)
        read = f"its tables {tables}" if len(classes) > 1 else f"its table {tables}"
        declared.append(click.option("--config", type=FILE, metavar="FILE", help=f"TOML file; this command reads {read}."))
        for option in reversed(declared):
            command = option(command)
        return command

    return decorate


def _form(setting: Setting) -> dict[str, Any]:
    """Return how click reads the flag."""
    if setting.switch:
        return {"is_flag": True, "default": None}
    bare = {} if setting.bare is None else {"is_flag": False, "flag_value": setting.bare}
    return {"metavar": setting.metavar, "multiple": setting.repeated, **bare}


def _default_text(default: object) -> str:
    return "" if default in (None, (), False) else f"  Default: {default}."


def options_from(cls: type[OptionsT], raw: dict[str, Any], config: Path | None) -> OptionsT:
    """Return the options that flags, the process's variables and the TOML file amount to; flags of other classes are passed over.

    Raises: E0101, E0102.
    """
    from ttc.inputs.files import read_config

    names = {item.name for item, _ in settings(cls)}
    explicit = {name: value for name, value in raw.items() if name in names and value not in (None, ())}
    return resolve(cls, explicit, os.environ, read_config(config) if config is not None else None)


def verbosity(command: CommandT) -> CommandT:
    """Give a command the flags -v and -q."""
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
