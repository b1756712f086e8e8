"""Sequences and optionals, which exist at import alone: lists of tensors, and values that are there or not."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.nn.base import axis_in
from ttc.importers.common.builder import Builder
from ttc.importers.common.parts import stacked
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.values import Listed

Item = SSAValue | Listed | None


def identity_1(b: Builder, x: Item) -> Item:
    return x


def sequence_empty_11(b: Builder, *, dtype: int = 1) -> Listed:
    return Listed(())


def sequence_construct_11(b: Builder, *items: SSAValue) -> Listed:
    return Listed(items)


def sequence_length_11(b: Builder, items: Item) -> SSAValue:
    return b.constant(np.array(len(_listed(items).items), np.int64))


def sequence_at_11(b: Builder, items: Item, position: SSAValue) -> SSAValue:
    found = _listed(items).items
    return found[_place(b, position, len(found))]


def sequence_insert_11(b: Builder, items: Item, x: SSAValue, position: SSAValue | None = None) -> Listed:
    """Before the element at the position; at the end without one."""
    found = _listed(items).items
    at = len(found) if position is None else _place(b, position, len(found), ends=1)
    return Listed((*found[:at], x, *found[at:]))


def sequence_erase_11(b: Builder, items: Item, position: SSAValue | None = None) -> Listed:
    """The last element without a position."""
    found = _listed(items).items
    at = len(found) - 1 if position is None else _place(b, position, len(found))
    if not found:
        raise Error("E0402", "an empty sequence has no element to erase")
    return Listed((*found[:at], *found[at + 1 :]))


def concat_from_sequence_11(b: Builder, items: Item, *, axis: int, new_axis: int = 0) -> SSAValue:
    """Along an axis, or with new_axis along a new one."""
    found = _listed(items).items
    if not found:
        raise Error("E0402", "an empty sequence cannot be joined")
    if new_axis:
        return stacked(b, found, axis)
    return b.nn("concat", *found, axis=axis_in(axis, len(b.shape(found[0]))))


def split_to_sequence_11(b: Builder, x: SSAValue, split: SSAValue | None = None, *, axis: int = 0, keepdims: int = 1) -> Listed:
    """Into sizes, into parts of one size (the last may be smaller), or into single elements, which then may lose the axis."""
    shape = b.shape(x)
    at = axis_in(axis, len(shape))
    sizes = (1,) * shape[at]
    if split is not None:
        given = b.ints(split, "split")
        each = given[0] if given else 0
        if b.shape(split) == () and each < 1:
            raise Error("E0402", f"parts of {each} elements")
        sizes = tuple(min(each, shape[at] - i) for i in range(0, shape[at], each)) if b.shape(split) == () else given
    if len(sizes) > 1 << 12:
        raise Unsupported("more than 4096 parts")
    parts = b.nn_all("split", x, axis=at, sizes=sizes)
    if split is not None or keepdims:
        return Listed(parts)
    return Listed(tuple(b.reshape(part, *shape[:at], *shape[at + 1 :]) for part in parts))


def optional_15(b: Builder, x: Item = None, *, type: Any = None) -> Item:
    """What it holds, if anything."""
    return x


def optional_has_element_15(b: Builder, x: Item = None) -> SSAValue:
    return b.constant(np.array(x is not None))


def optional_get_element_15(b: Builder, x: Item) -> Item:
    if x is None:
        raise Error("E0402", "the optional has no element")
    return x


def _listed(items: Item) -> Listed:
    if not isinstance(items, Listed):
        raise Error("E0401", "the operand is not a sequence")
    return items


def _place(b: Builder, position: SSAValue, length: int, ends: int = 0) -> int:
    """A position counted from the front.  Raises E0402."""
    given = int(b.number(position, "position"))
    at = given + length if given < 0 else given
    if not 0 <= at < length + ends:
        raise Error("E0402", f"position {given} is outside a sequence of {length}")
    return at
