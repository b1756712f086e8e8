"""Sequences whose length data decides, as the ops of `nn.sequence`; and lists put into that form."""

from __future__ import annotations

import numpy as np

from ttc.dialects.core.ir.spec import DYNAMIC
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.nn.selection import INDEX_TYPE
from ttc.importers.common.builder import Builder
from ttc.importers.common.dynamic import size_of
from ttc.importers.common.parts import stacked
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.values import Listed, Packed, Value


def element(value: Value, b: Builder) -> tuple[np.dtype, int] | None:
    """Return dtype and rank of the tensors of a sequence; None if it has no tensor that would say so."""
    if isinstance(value, Packed):
        return b.dtype(value.flat), b.spec(value.sizes).shape[1]
    if isinstance(value, Listed) and value.items:
        return b.dtype(value.items[0]), b.rank(value.items[0])
    return None


def packed(b: Builder, value: Value, dtype: np.dtype, rank: int) -> Packed:
    """Return a sequence of tensors of this dtype and rank in the form for the run. Raises Unsupported for others."""
    if isinstance(value, Packed) or not isinstance(value, Listed):
        if isinstance(value, Packed):
            return value
        raise Unsupported("a sequence here and something else there")
    found = Packed(b.constant(np.zeros(0, dtype)), b.constant(np.zeros((0, rank), np.int64)))
    for item in value.items:
        if (b.dtype(item), b.rank(item)) != (dtype, rank):
            raise Unsupported("tensors of different types in a sequence whose length data decides")
        found = insert(b, found, item, None)
    return found


def length(b: Builder, items: Packed) -> SSAValue:
    """Return how many tensors the sequence has."""
    found = size_of(b, items.sizes, 0)
    return b.constant(np.array(found, np.int64)) if isinstance(found, int) else found


def insert(b: Builder, items: Packed, x: SSAValue, position: SSAValue | None) -> Packed:
    """Return the sequence with x before the tensor at a position, or at the end."""
    return Packed(*b.nn_all("sequence_insert", items.flat, items.sizes, x, _place(b, position)))


def erase(b: Builder, items: Packed, position: SSAValue | None) -> Packed:
    """Return the sequence without the tensor at a position, or the last."""
    return Packed(*b.nn_all("sequence_erase", items.flat, items.sizes, _place(b, position)))


def at(b: Builder, items: Packed, position: SSAValue) -> SSAValue:
    """Return the tensor at a position."""
    return b.nn("sequence_at", items.flat, items.sizes, _place(b, position), shape=(DYNAMIC,) * b.spec(items.sizes).shape[1])


def join(b: Builder, items: Packed, axis: int, *, new: bool) -> SSAValue:
    """Return the tensors along an axis, or stacked along a new one."""
    rank = b.spec(items.sizes).shape[1] + new
    return b.nn("sequence_join", items.flat, items.sizes, axis=axis, stacked=new, shape=(DYNAMIC,) * rank)


def chosen(b: Builder, items: Listed, position: SSAValue) -> SSAValue:
    """Return the tensor of a list at a position that data decides."""
    if not items.items:
        raise Unsupported("an element of an empty sequence")
    first = b.spec(items.items[0])
    if first.is_static and all(b.spec(x) == first for x in items.items):
        index = _place(b, position)
        assert index is not None
        return b.nn("gather", stacked(b, items.items, 0), index, axis=0)
    return at(b, packed(b, items, first.dtype, first.rank), position)


def _place(b: Builder, position: SSAValue | None) -> SSAValue | None:
    return None if position is None else b.cast(b.reshape(position), INDEX_TYPE)
