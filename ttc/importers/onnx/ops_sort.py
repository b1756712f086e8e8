"""Ops that order elements, or choose the largest."""

from __future__ import annotations

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common.builder import Builder
from ttc.importers.common.tracking import MAX_ELEMENTS
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.ops_activation import split_product
from ttc.importers.onnx.tables import MAPPINGS


@MAPPINGS.rule("TopK-1")
def top_k_1(b: Builder, x: SSAValue, *, k: int, axis: int = -1) -> tuple[SSAValue, ...]:
    return b.nn_all("topk", x, k=k, axis=axis_in(axis, b.rank(x)), largest=True)


@MAPPINGS.rule("TopK-10")
def top_k_10(b: Builder, x: SSAValue, k: SSAValue, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> tuple[SSAValue, ...]:
    """Return the k largest or smallest; unsorted results, which may have any order, are sorted too."""
    return b.nn_all("topk", x, k=int(b.number(k, "k")), axis=axis_in(axis, b.rank(x)), largest=bool(largest))


@MAPPINGS.rule("Hardmax-1")
def hardmax_1(b: Builder, x: SSAValue, *, axis: int = 1) -> SSAValue:
    """Map Hardmax up to opset 12, which is over all dimensions from the axis on."""
    shape = b.shape(x)
    return b.reshape(hardmax_13(b, b.reshape(x, *split_product(shape, axis)), axis=1), *shape)


@MAPPINGS.rule("Hardmax-13")
def hardmax_13(b: Builder, x: SSAValue, *, axis: int = -1) -> SSAValue:
    """Return 1 at the first of the largest along the axis, 0 elsewhere."""
    shape = b.shape(x)
    at = axis_in(axis, len(shape))
    if shape[at] > MAX_ELEMENTS:
        raise Unsupported(f"more than {MAX_ELEMENTS} elements along the axis")
    if shape[at] == 0:
        return x
    place = b.nn("argmax", x, axis=at, keepdims=True, select_last=False)
    steps = b.constant(np.arange(shape[at], dtype=np.int64).reshape(-1, *(1,) * (len(shape) - 1 - at)))
    return b.cast(b.nn("equal", place, steps), b.dtype(x))


@MAPPINGS.rule("ReverseSequence-10")
def reverse_sequence_10(b: Builder, x: SSAValue, lengths: SSAValue, *, batch_axis: int = 1, time_axis: int = 0) -> SSAValue:
    if {batch_axis, time_axis} != {0, 1}:
        raise Error("E0402", f"time_axis {time_axis} and batch_axis {batch_axis} are not 0 and 1")
    return b.nn("reverse_sequence", x, lengths, time_axis=time_axis, batch_axis=batch_axis)
