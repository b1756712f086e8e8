"""Sequences and optionals, which exist at import alone: lists of tensors, and values that are there or not."""

from __future__ import annotations

from typing import Any

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common.builder import Builder
from ttc.importers.common.parts import stacked
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx import packed
from ttc.importers.onnx.tables import MAPPINGS
from ttc.importers.onnx.values import Listed, Packed

Item = SSAValue | Listed | Packed | None
Many = Listed | Packed


@MAPPINGS.rule("Identity-1")
def identity_1(b: Builder, x: Item) -> Item:
    return x


@MAPPINGS.rule("SequenceEmpty-11")
def sequence_empty_11(b: Builder, *, dtype: int = 1) -> Listed:
    return Listed(())


@MAPPINGS.rule("SequenceConstruct-11")
def sequence_construct_11(b: Builder, *items: SSAValue) -> Listed:
    return Listed(items)


@MAPPINGS.rule("SequenceLength-11")
def sequence_length_11(b: Builder, items: Item) -> SSAValue:
    found = _listed(items)
    return packed.length(b, found) if isinstance(found, Packed) else b.constant(np.array(len(found.items), np.int64))


@MAPPINGS.rule("SequenceAt-11")
def sequence_at_11(b: Builder, items: Item, position: SSAValue) -> SSAValue:
    found = _listed(items)
    if isinstance(found, Packed):
        return packed.at(b, found, position)
    if b.is_of_data(position):
        return packed.chosen(b, found, position)
    return found.items[_place(b, position, len(found.items))]


@MAPPINGS.rule("SequenceInsert-11")
def sequence_insert_11(b: Builder, items: Item, x: SSAValue, position: SSAValue | None = None) -> Many:
    """Insert a tensor before the one at the position; at the end without one."""
    whole = _by_data(b, _listed(items), position, x)
    if isinstance(whole, Packed):
        return packed.insert(b, whole, x, position)
    found = whole.items
    at = len(found) if position is None else _place(b, position, len(found), ends=1)
    return Listed((*found[:at], x, *found[at:]))


@MAPPINGS.rule("SequenceErase-11")
def sequence_erase_11(b: Builder, items: Item, position: SSAValue | None = None) -> Many:
    """Return the sequence without the tensor at a position; without the last one if none is given."""
    whole = _by_data(b, _listed(items), position)
    if isinstance(whole, Packed):
        return packed.erase(b, whole, position)
    found = whole.items
    at = len(found) - 1 if position is None else _place(b, position, len(found))
    if not found:
        raise Error("E0402", "an empty sequence has no element to erase")
    return Listed((*found[:at], *found[at + 1 :]))


@MAPPINGS.rule("ConcatFromSequence-11")
def concat_from_sequence_11(b: Builder, items: Item, *, axis: int, new_axis: int = 0) -> SSAValue:
    """Join tensors along an axis, or with new_axis along a new one."""
    whole = _listed(items)
    if isinstance(whole, Packed):
        return packed.join(b, whole, axis, new=bool(new_axis))
    found = whole.items
    if not found:
        raise Error("E0402", "an empty sequence cannot be joined")
    if new_axis:
        return stacked(b, found, axis)
    return b.nn("concat", *found, axis=axis_in(axis, len(b.shape(found[0]))))


@MAPPINGS.rule("SplitToSequence-11")
def split_to_sequence_11(b: Builder, x: SSAValue, split: SSAValue | None = None, *, axis: int = 0, keepdims: int = 1) -> Listed:
    """Split into sizes, into parts of one size (the last may be smaller), or into single elements, which then may lose the axis."""
    shape = b.shape(x)
    at = axis_in(axis, len(shape))
    sizes = (1,) * shape[at]
    if split is not None:
        given = b.ints(split, "split")
        each = given[0] if given else 0
        if b.shape(split) == () and each < 1:
            raise Error("E0402", f"parts have at least 1 element, not {each}")
        sizes = tuple(min(each, shape[at] - i) for i in range(0, shape[at], each)) if b.shape(split) == () else given
    if len(sizes) > 1 << 12:
        raise Unsupported("more than 4096 parts")
    parts = b.nn_all("split", x, axis=at, sizes=sizes)
    if split is not None or keepdims:
        return Listed(parts)
    return Listed(tuple(b.reshape(part, *shape[:at], *shape[at + 1 :]) for part in parts))


@MAPPINGS.rule("Optional-15")
def optional_15(b: Builder, x: Item = None, *, type: Any = None) -> Item:
    """Return an optional that holds the value, if there is one."""
    return x


@MAPPINGS.rule("OptionalHasElement-15")
def optional_has_element_15(b: Builder, x: Item = None) -> SSAValue:
    return b.constant(np.array(x is not None))


@MAPPINGS.rule("OptionalGetElement-15")
def optional_get_element_15(b: Builder, x: Item) -> Item:
    if x is None:
        raise Error("E0402", "the optional has no element")
    return x


def _listed(items: Item) -> Many:
    if not isinstance(items, Listed | Packed):
        raise Error("E0401", "the operand is not a sequence")
    return items


def _by_data(b: Builder, items: Many, position: SSAValue | None, x: SSAValue | None = None) -> Many:
    """The sequence, in the form for the run if data decides which place in it is meant."""
    if isinstance(items, Packed) or position is None or not b.is_of_data(position):
        return items
    known = packed.element(items, b) or (None if x is None else (b.dtype(x), b.rank(x)))
    if known is None:
        raise Error("E0402", "an empty sequence has no element to erase")
    return packed.packed(b, items, *known)


def _place(b: Builder, position: SSAValue, length: int, ends: int = 0) -> int:
    """Return a position counted from the front.  Raises E0402."""
    given = int(b.number(position, "position"))
    at = given + length if given < 0 else given
    if not 0 <= at < length + ends:
        raise Error("E0402", f"position {given} is outside a sequence of {length}")
    return at
