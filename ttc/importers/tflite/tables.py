"""The mappings by TFLite op: the `ROWS` of the modules `ops_*`.

A row's function takes the builder, the op's operands (None for one that is absent) and its options by the schema's names, and gives an nn
value or a tuple of them.  Rows compute on real numbers: the walker dequantizes their operands and quantizes their results, but for ops in
`CODES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from inspect import Parameter, signature
from typing import Any, NamedTuple, TypeAlias

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.rule_tables import RuleTable

Result: TypeAlias = "SSAValue | tuple[SSAValue, ...]"
MAX_OPERANDS = 1 << 16
"""The most operands of ops that take any number."""
Rows: TypeAlias = Mapping[str, Callable[..., Any]]


class TfliteRow(NamedTuple):
    """A mapping.  function: what maps; least, most: operands that it takes; gaps: whether those after the least may be absent; on_codes:
    see CODES; variables: see VARIABLES.
    """

    function: Callable[..., Result]
    least: int
    most: int
    gaps: bool
    on_codes: bool
    variables: tuple[int, ...]


ROWS: RuleTable[Callable[..., Any]] = RuleTable("row", "ttc.importers.tflite", prefix="ops_", holds="ROWS")
"""The function of each op that is mapped."""
COMPLEX_ROWS: RuleTable[Callable[..., Any]] = RuleTable("row", "ttc.importers.tflite", prefix="ops_signal", holds="COMPLEX_ROWS")
"""Functions by op, for operators that take complex numbers."""
CODES: set[str] = set()
"""Ops that move elements or compare them: where all their tensors have one scale and zero they are mapped on the integers."""
VARIABLES: dict[str, tuple[int, ...]] = {}
"""Operands that are variables which an op sets: its row gives their new values after the results."""


@cache
def rows() -> dict[str, TfliteRow]:
    """Return all mappings by op.  Raises E0901 where `CODES` or `VARIABLES` name an op that has none."""
    found = {op: TfliteRow(apply, *_operands(apply), op in CODES, VARIABLES.get(op, ())) for op, apply in ROWS.rules().items()}
    unknown = (CODES | VARIABLES.keys()) - found.keys()
    if unknown:
        raise Error("E0901", f"CODES or VARIABLES of TFLite name {min(unknown)}, which has no row")
    return found


@cache
def complex_rows() -> dict[str, TfliteRow]:
    """Return all mappings by op, for operators that take complex numbers."""
    return {op: TfliteRow(apply, *_operands(apply), False, ()) for op, apply in COMPLEX_ROWS.rules().items()}


def _operands(function: Callable[..., Any]) -> tuple[int, int, bool]:
    """Return how many operands a row takes at least, and at most; whether others than the least may be absent."""
    parameters = signature(function).parameters.values()
    positional = [p for p in parameters if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    many = next((p for p in parameters if p.kind is Parameter.VAR_POSITIONAL), None)
    needed = sum(p.default is Parameter.empty for p in positional) - 1
    if many is None:
        return needed, len(positional) - 1, True
    return needed, MAX_OPERANDS, many.annotation not in ("SSAValue", "Value")
