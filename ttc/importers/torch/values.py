"""The values that nodes of a PyTorch graph stand for at import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ttc.dialects.core.records import record
from ttc.importers.common.unsupported import Refused


@record
class DataNumber:
    """Arithmetic with numbers that depend on data: computed where it must be known, and can be."""

    function: Callable[..., Any]
    args: tuple[Any, ...]


Value: TypeAlias = Any
"""A value of a graph at import: of nn, a tuple of values, plain Python (numbers, None, text, numpy dtypes), a subgraph as a function, a
DataNumber, or REFUSED.
"""


def holds_refused(value: Value) -> bool:
    """Return whether a value is refused, or a tuple with such an element."""
    if isinstance(value, tuple | list):
        return any(holds_refused(v) for v in value)
    return isinstance(value, Refused)


def flat(value: Value) -> list[Value]:
    """Return the leaves of nested tuples, lists and dictionaries."""
    if isinstance(value, tuple | list):
        return [leaf for part in value for leaf in flat(part)]
    return [leaf for part in value.values() for leaf in flat(part)] if isinstance(value, dict) else [value]
