"""The mappings by TFLite op: the `ROWS` of the modules `ops_*`.

A row's function takes the builder, the op's operands (None for one that is absent) and its options by the schema's names, and gives an nn
value or a tuple of them.  Rows compute on real numbers: the walker dequantizes their operands and quantizes their results.  Ops that a
module lists in `CODES` move elements or compare them: where all their tensors have one scale and zero they are mapped on the integers.
`COMPLEX_ROWS` are for operators that take complex numbers.
Ops of a module's `VARIABLES` set the variables that are these operands: their rows give the new values after the results.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from inspect import Parameter, signature
from typing import Any, NamedTuple, TypeAlias

import ttc.importers.tflite as package
from ttc.dialects.core.ir.values import SSAValue

Result: TypeAlias = "SSAValue | tuple[SSAValue, ...]"
MAX_OPERANDS = 1 << 16
"""The most operands of ops that take any number."""
Rows: TypeAlias = Mapping[str, Callable[..., Any]]


class Row(NamedTuple):
    """function: see above; least, most: operands that it takes; gaps: whether those after the least may be absent; on_codes: see CODES;
    variables: see VARIABLES.
    """

    function: Callable[..., Result]
    least: int
    most: int
    gaps: bool
    on_codes: bool
    variables: tuple[int, ...]


@cache
def rows() -> dict[str, Row]:
    """Return the mappings of all modules, by op."""
    return _collected("ROWS")


@cache
def complex_rows() -> dict[str, Row]:
    """All mappings by op, for operators that take complex numbers."""
    return _collected("COMPLEX_ROWS")


def _collected(table: str) -> dict[str, Row]:
    found: dict[str, Row] = {}
    for info in pkgutil.iter_modules(package.__path__):
        if not info.name.startswith("ops_"):
            continue
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        on_codes, variables = getattr(module, "CODES", frozenset()), getattr(module, "VARIABLES", {})
        for op, function in getattr(module, table, {}).items():
            found[op] = Row(function, *_operands(function), op in on_codes, variables.get(op, ()))
    return found


def _operands(function: Callable[..., Any]) -> tuple[int, int, bool]:
    """How many operands a row takes at least, and at most; whether others than the least may be absent."""
    parameters = signature(function).parameters.values()
    positional = [p for p in parameters if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    many = next((p for p in parameters if p.kind is Parameter.VAR_POSITIONAL), None)
    needed = sum(p.default is Parameter.empty for p in positional) - 1
    if many is None:
        return needed, len(positional) - 1, True
    return needed, MAX_OPERANDS, many.annotation not in ("SSAValue", "Value")
