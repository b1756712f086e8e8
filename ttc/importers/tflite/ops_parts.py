"""Parts of tensors, chosen by numbers or by indices, margins, and elements written at computed places."""

from __future__ import annotations

from math import prod

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common import masked
from ttc.importers.common.builder import Builder
from ttc.importers.common.masked import Masks
from ttc.importers.common.parts import padded, part
from ttc.importers.common.tracking import MAX_ELEMENTS
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.tflite.building import TfliteBuilder
from ttc.importers.tflite.tables import CODES, Rows

INT64 = np.dtype(np.int64)


def slice_(b: Builder, x: SSAValue, begin: SSAValue, size: SSAValue) -> SSAValue:
    """Cut out a slice; a size of -1 reaches to the end."""
    starts, sizes, shape = b.ints(begin, "begin"), b.ints(size, "size"), b.shape(x)
    if not len(starts) == len(sizes) == len(shape):
        raise Error("E0402", f"begin {list(starts)} and size {list(sizes)} do not fit {b.spec(x)}")
    sizes = tuple(d - s if n == -1 else n for d, s, n in zip(shape, starts, sizes, strict=True))
    return b.nn("slice", x, starts=starts, sizes=sizes, steps=(1,) * len(shape))


def strided_slice(
    b: Builder,
    x: SSAValue,
    begin: SSAValue,
    end: SSAValue,
    strides: SSAValue,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
    offset: bool,
) -> SSAValue:
    """Cut out a strided slice; with offset, ends count from begins."""
    first, last, steps = b.ints(begin, "begin"), b.ints(end, "end"), b.ints(strides, "strides")
    if offset and len(first) == len(last):
        last = tuple(low + n for low, n in zip(first, last, strict=True))
    masks = Masks(begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    return masked.strided_slice(b, x, first, last, steps, masks)


def pad(b: TfliteBuilder, x: SSAValue, paddings: SSAValue) -> SSAValue:
    before, after = _margins(b, x, paddings)
    return padded(b, x, before, after, float(b.zero))


def padv2(b: TfliteBuilder, x: SSAValue, paddings: SSAValue, value: SSAValue) -> SSAValue:
    before, after = _margins(b, x, paddings)
    return padded(b, x, before, after, b.number(value, "value"))


def mirror_pad(b: Builder, x: SSAValue, paddings: SSAValue, *, mode: str) -> SSAValue:
    before, after = _margins(b, x, paddings)
    return masked.mirror_pad(b, x, before, after, with_border=mode == "SYMMETRIC")


def dilate(b: Builder, x: SSAValue, factors: SSAValue, value: SSAValue) -> SSAValue:
    """Return x with factor - 1 times the value between two elements of a dimension."""
    shape, between, filled = b.shape(x), b.ints(factors, "dilations"), b.number(value, "value")
    if len(between) != len(shape) or min(between, default=1) < 1 or prod(between) * b.spec(x).elements > MAX_ELEMENTS:
        raise Error("E0402", f"dilations {list(between)} do not fit {b.spec(x)}")
    for axis, factor in enumerate(between):
        before, after = b.shape(x)[:axis], b.shape(x)[axis + 1 :]
        if factor == 1 or not shape[axis]:
            continue
        wide = b.reshape(x, *before, shape[axis], 1, *after)
        margins = (*(0,) * (axis + 1), factor - 1, *(0,) * len(after))
        wide = b.reshape(padded(b, wide, (0,) * len(margins), margins, filled), *before, shape[axis] * factor, *after)
        x = part(b, wide, axis, 0, (shape[axis] - 1) * factor + 1)
    return x


def _margins(b: Builder, x: SSAValue, paddings: SSAValue) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return elements before and after each dimension.  Raises E0402."""
    found = b.need(paddings, "paddings")
    if found.dtype.kind not in "iu" or found.shape != (b.rank(x), 2) or found.min(initial=0) < 0:
        raise Error("E0402", f"paddings {found.dtype}{list(found.shape)} do not fit {b.spec(x)}")
    return tuple(found[:, 0].tolist()), tuple(found[:, 1].tolist())


def gather(b: Builder, x: SSAValue, indices: SSAValue, *, axis: int, batch_dims: int) -> SSAValue:
    return masked.gather(b, x, indices, axis, batch_dims)


def gather_nd(b: Builder, x: SSAValue, indices: SSAValue) -> SSAValue:
    return b.nn("gather_nd", x, _wide(b, indices), batch_dims=0)


def _wide(b: Builder, indices: SSAValue) -> SSAValue:
    return indices if b.dtype(indices).itemsize >= 4 else b.cast(indices, INT64)


def one_hot(b: TfliteBuilder, indices: SSAValue, depth: SSAValue, on: SSAValue, off: SSAValue, *, axis: int) -> SSAValue:
    return masked.one_hot(b, indices, b.whole(depth, "depth"), on, off, axis)


def topk_v2(b: TfliteBuilder, x: SSAValue, k: SSAValue) -> tuple[SSAValue, ...]:
    return b.nn_all("topk", x, k=b.whole(k, "k"), axis=b.rank(x) - 1, largest=True)


def reverse_sequence(b: Builder, x: SSAValue, lengths: SSAValue, *, seq_dim: int, batch_dim: int) -> SSAValue:
    return b.nn("reverse_sequence", x, _wide(b, lengths), time_axis=seq_dim, batch_axis=batch_dim)


def where(b: Builder, condition: SSAValue) -> SSAValue:
    """Return the indices of elements that are not 0, one row each."""
    return b.nn("transpose", b.nn("non_zero", condition), perm=(1, 0))


def unique(b: Builder, x: SSAValue, *, idx_out_type: str) -> tuple[SSAValue, ...]:
    """Return different elements in order of appearance, and the place of each element among them."""
    values, _, inverse, _ = b.nn_all("unique", x, sorted=False)
    return values, inverse


def dynamic_update_slice(b: Builder, x: SSAValue, update: SSAValue, starts: SSAValue) -> SSAValue:
    """Return x with a part replaced that begins at computed places, which are moved so that it lies inside."""
    shape, sizes = b.shape(x), b.shape(update)
    if len(shape) != len(sizes) or any(s > d for s, d in zip(sizes, shape, strict=True)) or b.shape(starts) != (len(shape),):
        raise Error("E0401", f"{b.spec(update)} at {b.spec(starts)} does not fit into {b.spec(x)}")
    if not shape:
        return update
    if b.spec(update).elements > 1 << 22:
        raise Unsupported("updates of more than 4 M elements")
    room = b.constant(np.array([d - s for d, s in zip(shape, sizes, strict=True)], np.int64))
    first = b.nn("minimum", b.nn("maximum", b.cast(starts, INT64), b.constant(np.array(0, np.int64))), room)
    offsets = np.stack(np.meshgrid(*(np.arange(s) for s in sizes), indexing="ij"), axis=-1).astype(np.int64)
    return b.nn("scatter_nd", x, b.nn("add", b.constant(offsets), first), update, reduction="none")


def scatter_nd(b: Builder, indices: SSAValue, updates: SSAValue, shape: SSAValue) -> SSAValue:
    """Return updates added up at index tuples of zeros."""
    wanted = b.ints(shape, "shape")
    if min(wanted, default=0) < 0:
        raise Error("E0402", f"{list(wanted)} is not a shape")
    zeros = b.nn("expand", b.scalar(0, updates), shape=wanted)
    reduction = "none" if b.dtype(updates).kind == "b" else "add"
    return b.nn("scatter_nd", zeros, _wide(b, indices), updates, reduction=reduction)


def sparse_to_dense(b: Builder, indices: SSAValue, shape: SSAValue, values: SSAValue, default: SSAValue) -> SSAValue:
    """Return a tensor of the default with values at index tuples."""
    wanted, rank = b.ints(shape, "shape"), b.rank(indices)
    if min(wanted, default=0) < 0 or rank > 2:
        raise Error("E0402", f"{list(wanted)} is not a shape, or {b.spec(indices)} are no tuples")
    count = b.shape(indices)[0] if rank else 1
    tuples = indices if rank == 2 else b.reshape(indices, count, 1)
    values = b.nn("expand", b.reshape(values), shape=(count,)) if b.spec(values).elements == 1 else values
    return b.nn("scatter_nd", b.nn("expand", b.reshape(default), shape=wanted), _wide(b, tuples), values, reduction="none")


def segment_sum(b: Builder, x: SSAValue, segments: SSAValue) -> SSAValue:
    """Return sums of rows with equal numbers, which must be known: they give the number of rows."""
    found = b.ints(segments, "segment numbers")
    return _by_segment(b, x, segments, max(found, default=-1) + 1, "add")


def unsorted_segment_sum(b: TfliteBuilder, x: SSAValue, segments: SSAValue, count: SSAValue) -> SSAValue:
    return _by_segment(b, x, segments, b.whole(count, "number of segments"), "add")


def unsorted_segment_prod(b: TfliteBuilder, x: SSAValue, segments: SSAValue, count: SSAValue) -> SSAValue:
    return _by_segment(b, x, segments, b.whole(count, "number of segments"), "mul")


def unsorted_segment_max(b: TfliteBuilder, x: SSAValue, segments: SSAValue, count: SSAValue) -> SSAValue:
    return _by_segment(b, x, segments, b.whole(count, "number of segments"), "max")


def unsorted_segment_min(b: TfliteBuilder, x: SSAValue, segments: SSAValue, count: SSAValue) -> SSAValue:
    return _by_segment(b, x, segments, b.whole(count, "number of segments"), "min")


def _by_segment(b: Builder, x: SSAValue, segments: SSAValue, count: int, reduction: str) -> SSAValue:
    """Rows of x combined by number: a row for each number below count.  Negative numbers, whose rows count for nothing, are refused."""
    shape, lead = b.shape(x), b.shape(segments)
    if count < 0 or shape[: len(lead)] != lead:
        raise Error("E0401", f"{b.spec(segments)} does not fit {b.spec(x)}, or a count of {count}")
    known = b.known(segments)
    if known is None or known.min(initial=0) < 0:
        raise Unsupported("segment numbers that are computed or negative")
    kind = b.dtype(x)
    info = np.finfo(kind) if kind.kind == "f" else np.iinfo(kind)
    first = {"add": 0, "mul": 1, "max": info.min, "min": info.max}[reduction]
    base = b.nn("expand", b.constant(np.array(first, kind)), shape=(count, *shape[len(lead) :]))
    return b.nn("scatter_nd", base, b.reshape(_wide(b, segments), *lead, 1), x, reduction=reduction)


ROWS: Rows = {
    "SLICE": slice_,
    "STRIDED_SLICE": strided_slice,
    "PAD": pad,
    "PADV2": padv2,
    "DILATE": dilate,
    "MIRROR_PAD": mirror_pad,
    "GATHER": gather,
    "GATHER_ND": gather_nd,
    "ONE_HOT": one_hot,
    "TOPK_V2": topk_v2,
    "REVERSE_SEQUENCE": reverse_sequence,
    "WHERE": where,
    "UNIQUE": unique,
    "DYNAMIC_UPDATE_SLICE": dynamic_update_slice,
    "SCATTER_ND": scatter_nd,
    "SPARSE_TO_DENSE": sparse_to_dense,
    "SEGMENT_SUM": segment_sum,
    "UNSORTED_SEGMENT_SUM": unsorted_segment_sum,
    "UNSORTED_SEGMENT_PROD": unsorted_segment_prod,
    "UNSORTED_SEGMENT_MAX": unsorted_segment_max,
    "UNSORTED_SEGMENT_MIN": unsorted_segment_min,
}
CODES.update(
    {
        *("SLICE", "STRIDED_SLICE", "PAD", "PADV2", "MIRROR_PAD", "GATHER", "GATHER_ND", "ONE_HOT", "TOPK_V2"),
        *("REVERSE_SEQUENCE", "UNIQUE", "DYNAMIC_UPDATE_SLICE"),
    }
)
