"""Ranges of integers, and how regions change them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

import numpy as np

from ttc.dialects.core.plain.functions import Work
from ttc.runtime.engines.native.graph.region import Region, RegionStep
from ttc.runtime.engines.native.graph.storage import Storage, array_dtype

Range: TypeAlias = tuple[int, int]
"""The smallest and the largest number, both included."""

INTEGERS: tuple[Storage, ...] = ("i8", "u8", "i16", "u16", "i32")
"""Storages that operands of products of integers have."""
_EXACT = 1 << 24
"""Whole numbers up to it are exact in float32, and so are sums that stay below it."""
_INTEGERS = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))


@dataclass
class IntegerFacts:
    """What is known of the integers that products multiply, by number of the value.

    Args:
        ranges: of operands of products.
        storages: of values that nothing but products reads, which are held narrower than their format.
    """

    ranges: dict[int, Range] = field(default_factory=dict)
    storages: dict[int, Storage] = field(default_factory=dict)


def limits(storage: Storage) -> Range | None:
    """Return the range of the integers of a storage; None for other numbers."""
    return None if storage == "bf16" else range_of_dtype(array_dtype(storage))


def fits(found: Range, storage: Storage) -> bool:
    """Return whether a storage holds all integers of a range."""
    own = limits(storage)
    return own is not None and _within(found, own)


def range_of(region: Region, inputs: Sequence[Range | None]) -> Range | None:
    """Return the range of the result of a region, given those of its inputs, None where nothing is known."""
    known = [found or limits(storage) for found, storage in zip(inputs, region.inputs, strict=True)]
    storages = list(region.inputs)
    for step in region.steps:
        known.append(_of_step(step, [known[i] for i in step.operands], [storages[i] for i in step.operands]))
        storages.append(step.storage)
    return known[region.output]


def in_floats(work: Work, shapes: Sequence[tuple[int, ...]], ranges: Sequence[Range | None]) -> bool:
    """Return whether a product is a depthwise convolution of integers that float32 computes exactly.

    Args: shapes, ranges: of the image and the filter; None where nothing is known.
    """
    if work.op != "tile.conv2d" or [len(shape) for shape in shapes] != [4, 4]:
        return False
    if not work.attrs.get("groups") == shapes[0][3] == shapes[1][3] > 1:
        return False
    largest = [max(abs(found[0]), abs(found[1])) for found in ranges if found is not None]
    return len(largest) == 2 and prod(shapes[1][:3]) * prod(largest) <= _EXACT


def _of_step(step: RegionStep, operands: Sequence[Range | None], storages: Sequence[Storage]) -> Range | None:
    own, attrs = limits(step.storage), dict(step.attrs)
    found = own
    value = attrs.get("value")
    if step.fn == "constant" and type(value) is int:
        found = (value, value)
    elif step.fn == "cast" and operands[0] is not None:
        to = range_of_dtype(np.dtype(str(attrs["to"]))) if attrs.get("to") in _INTEGERS else operands[0] if "to" not in attrs else None
        found = operands[0] if to is not None and _within(operands[0], to) else to
    elif step.fn in ("add", "sub") and set(storages) == {step.storage}:
        (a, b), (c, d) = (own or (0, 0) if known is None else known for known in operands)
        found = (a + c, b + d) if step.fn == "add" else (a - d, b - c)
    return found if own is not None and found is not None and _within(found, own) else own


def _within(found: Range, other: Range) -> bool:
    return other[0] <= found[0] and found[1] <= other[1]


def range_of_dtype(dtype: np.dtype) -> Range | None:
    """Return the smallest and the largest number of an integer dtype; None for other dtypes."""
    return (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)) if dtype.kind in "iu" else None
