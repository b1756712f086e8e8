"""Makes the reference pages of the documentation from docstrings, options and the pipeline, anew for each build."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import click

import checkout  # noqa: F401  the packages of this checkout
import ttc
from docstrings import escaped, markdown
from ttc.cli.app import group
from ttc.dialects.core.ir.adapter import TtcOp
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.nn.base import ops as nn_ops
from ttc.dialects.tile.base import ops as tile_ops
from ttc.passes.pipeline import stages
from ttc.passes.pipeline_text import all_passes
from ttc.runtime.machine.session import Session
from ttc.settings.records import Options, flag_of, settings

HELP_COLUMNS = 100
MODULES = {"dist": "torch", "graphs": "torch", "lightning": "lightning", "metrics": None, "profiler": None}
"""Modules of ttc whose names are on the page of the Python API, and the package that each needs."""
SESSION = "ttc.runtime.machine.session.Session"


def api() -> str:
    """Return the page of the Python API: what `import ttc` gives, and what its modules do."""
    lines = ["# Python API", "", "Everything here is an attribute of the package: `import ttc`.", ""]
    lines += _names(ttc, "ttc")
    for name, needed in MODULES.items():
        if needed is not None and find_spec(needed) is None:
            lines += [f"Names of `ttc.{name}` are listed where {needed} is installed.", ""]
        else:
            lines += _names(getattr(ttc, name), f"ttc.{name}")
    lines += [*_class(SESSION, Session), f"An `Executor` holds its own as `executor.session`; `{SESSION}` is its class.", ""]
    return "\n".join(lines)


def _names(module: ModuleType, path: str) -> Iterator[str]:
    """Sections of the names that a module lists as its own."""
    for name in module.__all__:
        found = getattr(module, name)
        yield from _class(f"{path}.{name}", found) if inspect.isclass(found) else _function(f"{path}.{name}", found, "##")


def _function(name: str, function: Callable[..., Any], level: str) -> list[str]:
    return [f"{level} {name}", "", "```python", f"{name.rpartition('.')[2]}{_signature(function)}", "```", "", *markdown(function.__doc__)]


@dataclass(frozen=True)
class _Annotation:
    """A postponed annotation, which prints as it was written."""

    text: str

    def __repr__(self) -> str:
        return self.text


def _written(annotation: Any) -> Any:
    return _Annotation(annotation) if isinstance(annotation, str) else annotation


def _signature(function: Callable[..., Any]) -> str:
    """Return the signature as it is written: on one line, or if that is too long with a line for each parameter."""
    signature = inspect.signature(function)
    parameters = [p.replace(annotation=_written(p.annotation)) for p in signature.parameters.values()]
    found = signature.replace(parameters=parameters, return_annotation=_written(signature.return_annotation))
    text = str(found)
    if len(text) <= HELP_COLUMNS:
        return text
    lines = [str(p) for p in parameters]
    keywords = [i for i, p in enumerate(parameters) if p.kind is p.KEYWORD_ONLY]
    if keywords:
        lines.insert(keywords[0], "*")
    result = text[text.rindex(")") :]
    return "(\n" + "".join(f"    {line},\n" for line in lines) + result


def _class(name: str, kind: type) -> list[str]:
    lines = [f"## {name}", "", *markdown(kind.__doc__)]
    if issubclass(kind, Options):
        lines += ["| field | |", "|---|---|"]
        return [*lines, *(f"| `{item.name}` (`{flag_of(item.name)}`) | {escaped(setting.help)} |" for item, setting in settings(kind)), ""]
    for method, member in vars(kind).items():
        if method.startswith("_") and method != "__call__":
            continue
        if isinstance(member, property):
            lines += [f"### {kind.__name__}.{method}", "", *markdown(member.fget.__doc__ if member.fget else None)]
        elif inspect.isfunction(member):
            lines += _function(f"{kind.__name__}.{method}", member, "###")
    return lines


def commands() -> str:
    """Return the page of the command line: every command's own help."""
    lines = ["# Commands", "", "What `ttc COMMAND --help` prints.  [Options](../options.md) explains the values.", ""]
    for path, command in _commands("ttc", group):
        sizes = {"max_content_width": HELP_COLUMNS, "terminal_width": HELP_COLUMNS, "help_option_names": ["-h", "--help"]}
        context = click.Context(command, info_name=path, **sizes)
        lines += [f"## {path}", "", "```text", command.get_help(context), "```", ""]
    return "\n".join(lines)


def _commands(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None:
                yield from _commands(f"{path} {name}", found)


def ops_of(dialect: str, found: Mapping[str, type[TtcOp]], opening: str) -> str:
    """Return the page of a dialect's ops, by the file that defines them."""
    lines = [f"# Ops of dialect {dialect}", "", opening, ""]
    by_file: dict[str, list[type[TtcOp]]] = {}
    for kind in found.values():
        by_file.setdefault(kind.__module__.rpartition(".")[2], []).append(kind)
    for stem in sorted(by_file):
        lines += [f"## dialects/{dialect}/{stem}.py", ""]
        for kind in by_file[stem]:
            lines += [f"### {kind.name}", "", *markdown(kind.__doc__)]
    return "\n".join(lines)


def passes() -> str:
    """Return the page of the passes: their order on the default target, then each with its documentation."""
    lines = [
        "# Passes",
        "",
        "The order on target n150.  `ttc passes --target NAME` lists that of any target.",
        "",
        "| stage | passes |",
        "|---|---|",
    ]
    for stage, found in stages(load_target("n150")).items():
        lines.append(f"| `{stage}` | {', '.join(f'[{p.name}](#{p.name})' for p in found)} |")
    for name, kind in sorted(all_passes().items()):
        lines += ["", f"## {name}", "", f"File `{kind.__module__.removeprefix('ttc.').replace('.', '/')}.py`.", "", *markdown(kind.__doc__)]
    return "\n".join(lines)


def nn() -> str:
    """Return the page of dialect nn."""
    return ops_of("nn", nn_ops(), "Tensors in, tensors out, with no word of hardware in them.  Stages import and nn consist of them.")


def tile() -> str:
    """Return the page of dialect tile."""
    return ops_of(
        "tile", tile_ops(), "What one device computes, on tensors with a number format and a layout.  Stage tile consists of them."
    )


PAGES: dict[str, Callable[[], str]] = {
    "reference/api.md": api,
    "reference/commands.md": commands,
    "reference/nn.md": nn,
    "reference/tile.md": tile,
    "reference/passes.md": passes,
}
"""The pages by their path below docs/."""
