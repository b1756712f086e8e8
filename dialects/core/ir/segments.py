"""How many operands each name of an op has, where xDSL cannot tell from their number: its attribute `operandSegmentSizes`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import cast

from xdsl.dialects import builtin
from xdsl.ir import Attribute

from ttc.dialects.core.errors import Error

SEGMENTS = "operandSegmentSizes"


def segment_sizes(name: str, kinds: Sequence[str], operands: Sequence[object]) -> tuple[int, ...]:
    """Operands of each kind (one, optional or many) among those given, None for an absent one.  Raises E0302 if there are too few.

    name: of the op, for the message.
    """
    extra = len(operands) - len(kinds)
    sizes: list[int] = []
    index = 0
    for kind in kinds:
        if kind == "many":
            sizes.append(extra + 1)
            index += extra + 1
            continue
        if index >= len(operands):
            raise Error("E0302", f"{name} takes {len(kinds)} operands, '_' for an absent one")
        sizes.append(0 if operands[index] is None else 1)
        index += 1
    return tuple(sizes)


@cache
def segments_attribute(sizes: tuple[int, ...]) -> Attribute:
    """Return the attribute that holds the sizes; one object for the same sizes."""
    made = builtin.DenseArrayBase.from_list(builtin.i32, sizes)
    _MADE[id(made)] = made, sizes
    return made


_MADE: dict[int, tuple[Attribute, tuple[int, ...]]] = {}
"""Attributes made here with their sizes, by identity."""


def made_segments(held: Attribute) -> tuple[int, ...] | None:
    """Return the sizes that an attribute holds, if `segments_attribute` made it."""
    made = _MADE.get(id(held))
    return None if made is None else made[1]


def read_segments(held: Attribute) -> tuple[int, ...]:
    """Return the sizes that an attribute holds."""
    made = made_segments(held)
    return made if made is not None else cast("builtin.DenseArrayBase[builtin.IntegerType]", held).get_values()
