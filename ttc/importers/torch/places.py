"""Where a node of a PyTorch graph came from: its module's path and the line of the program."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import PurePath

import torch
from torch import fx

import ttc

_NOT_PROGRAMS = tuple(PurePath(package.__path__[0]) for package in (torch, ttc))
_GENERATED = "<eval_with_key>"
"""The file of what PyTorch itself generated, which it numbers through."""
_FRAME = re.compile(r'File "([^"\n]+)", line (\d+)')


def sources_of(node: fx.Node) -> tuple[str, ...]:
    """Return the path of the module that made the node, and `file:line` of the innermost line of a program outside PyTorch.

    What is marked to be computed again has a last name that begins with `recompute.`.
    """
    stack = [path for path, _ in (node.meta.get("nn_module_stack") or {}).values()]
    path = module_path(str(stack[-1])) if stack else ""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    own = [frame for frame in frames if _is_of_a_program(frame[0])]
    line = [f"{PurePath(file).name}:{number}" for file, number in (own or frames)[-1:]]
    marked = node.meta.get("custom", {}).get("ttc_recompute")
    return (*([path] if path else []), *line, *([f"recompute.{marked}"] if marked else []))


@lru_cache(maxsize=4096)
def _is_of_a_program(file: str) -> bool:
    return not file.startswith(_GENERATED) and not any(PurePath(file).is_relative_to(folder) for folder in _NOT_PROGRAMS)


def module_path(path: str) -> str:
    """Return the path of a module: `encoder.layer.0` of `L['self'].encoder.layer.0` and of plain paths; empty for the outermost module."""
    plain = re.sub(r"\[['\"]?([^'\"\]]*)['\"]?\]", r".\1", path).removeprefix("L.self").removeprefix(".")
    return "" if plain.startswith("_empty_nn_module_stack") else plain
