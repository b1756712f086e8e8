"""The values that names of a graph stand for at import."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.records import record
from ttc.importers.common.unsupported import Refused, Unsupported


@record
class Listed:
    """A sequence, whose length is known at import: its tensors in order."""

    items: tuple[SSAValue, ...]


@record
class Packed:
    """A sequence whose length data decides: its tensors' elements one after the other, and the shape of each (`nn.sequence_at`)."""

    flat: SSAValue
    sizes: SSAValue


Value: TypeAlias = "SSAValue | Listed | Packed | Refused | None"
"""A value of a graph at import.  None: an optional input that is absent, or an optional without an element."""


class RefusedInside(Exception):  # noqa: N818 - not an error: the miss is recorded
    """Raised for a subgraph that gives a value which cannot be imported; so its node gives none."""


def refusable(values: Sequence[Value]) -> list[Value]:
    """Return the values.  Raises RefusedInside if one is refused."""
    if any(isinstance(x, Refused) for x in values):
        raise RefusedInside
    return list(values)


def flattened(values: Sequence[Value]) -> list[SSAValue]:
    """Return the tensors among and in values."""
    found: list[SSAValue] = []
    for value in values:
        if isinstance(value, Listed):
            found.extend(value.items)
        elif isinstance(value, Packed):
            found += [value.flat, value.sizes]
        elif isinstance(value, SSAValue):
            found.append(value)
    return found


def like(shapes: Sequence[Sequence[Value]], tensors: Sequence[SSAValue]) -> list[Value]:
    """Return tensors put together as values of `shapes` are, which must all be alike: the inverse of `flattened`. Raises Unsupported."""
    first, *others = [[_form(x) for x in values] for values in shapes]
    if any(other != first for other in others):
        raise Unsupported("a sequence of different lengths, or an optional with and without an element, as data decides")
    left = iter(tensors)
    return [_like(value, left) for value in shapes[0]]


def _form(value: Value) -> tuple[str, int]:
    """Return what sort of value it is, and of how many tensors."""
    if isinstance(value, Listed):
        return "sequence", len(value.items)
    return ("packed", 2) if isinstance(value, Packed) else ("none", 0) if value is None else ("tensor", 1)


def _like(value: Value, left: Iterator[SSAValue]) -> Value:
    if isinstance(value, Packed):
        return Packed(next(left), next(left))
    if isinstance(value, Listed):
        return Listed(tuple(next(left) for _ in value.items))
    return None if value is None else next(left)
