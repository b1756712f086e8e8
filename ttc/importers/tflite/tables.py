"""The mappings by TFLite op: the `ROWS` of the modules `ops_*`.

A row's function takes the builder, the op's operands (None for one that is absent) and its options by the schema's names, and gives an nn
value or a tuple of them.  Rows compute on real numbers: the walker dequantizes their operands and quantizes their results.  Ops that a
module lists in `CODES` move elements or compare them: where all their tensors have one scale and zero they are mapped on the integers.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from inspect import Parameter, signature
from typing import Any, NamedTuple, TypeAlias

from xdsl.ir import SSAValue

import ttc.importers.tflite as package

Result: TypeAlias = "SSAValue | tuple[SSAValue, ...]"
Rows: TypeAlias = Mapping[str, Callable[..., Any]]


class Row(NamedTuple):
    """function: see above; least, most: operands that it takes; needed: those that must be there; on_codes: see CODES."""

    function: Callable[..., Result]
    least: int
    most: int
    on_codes: bool


@cache
def rows() -> dict[str, Row]:
    """All mappings by op."""
    found: dict[str, Row] = {}
    for info in pkgutil.iter_modules(package.__path__):
        if not info.name.startswith("ops_"):
            continue
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        on_codes = getattr(module, "CODES", frozenset())
        for op, function in module.ROWS.items():
            least, most = _operands(function)
            found[op] = Row(function, least, most, op in on_codes)
    return found


def _operands(function: Callable[..., Any]) -> tuple[int, int]:
    """How many operands a row takes at least, and at most."""
    positional = [
        p for p in signature(function).parameters.values() if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    ]
    many = any(p.kind is Parameter.VAR_POSITIONAL for p in signature(function).parameters.values())
    needed = sum(p.default is Parameter.empty for p in positional) - 1
    return needed + many, 1 << 16 if many else len(positional) - 1
