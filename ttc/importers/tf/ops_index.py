"""Parts of tensors: slices, pads, gathers, scatters, one-hot."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common import masked
from ttc.importers.common.builder import Builder
from ttc.importers.common.masked import Masks
from ttc.importers.common.parts import padded, triangle
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.tf import computed
from ttc.importers.tf.tables import Rows

Ints: TypeAlias = tuple[int, ...]
INT64 = np.dtype(np.int64)


def slice_(b: Builder, input: SSAValue, begin: SSAValue, size: SSAValue) -> SSAValue:
    """Cut out a slice of given sizes; a size of -1 reaches to the end."""
    known = computed.ints(b, "begin or size", begin, size) if b.spec(input).is_static else None
    if known is None:
        return computed.slice_(b, input, computed.numbers(b, begin), computed.numbers(b, size))
    (starts, sizes), shape = known, b.shape(input)
    if not len(starts) == len(sizes) == len(shape):
        raise Error("E0402", f"begin {list(starts)} and size {list(sizes)} do not fit {b.spec(input)}")
    sizes = tuple(d - s if n == -1 else n for d, s, n in zip(shape, starts, sizes, strict=True))
    if any(s < 0 or n < 0 or s + n > d for d, s, n in zip(shape, starts, sizes, strict=True)):
        raise Error("E0402", f"begin {list(starts)} and size {list(sizes)} lie outside {b.spec(input)}")
    return b.nn("slice", input, starts=starts, sizes=sizes, steps=(1,) * len(starts))


def strided_slice(
    b: Builder,
    input: SSAValue,
    begin: SSAValue,
    end: SSAValue,
    strides: SSAValue,
    *,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> SSAValue:
    """Return Python's x[...]: an entry is a slice, a new axis, an index or the ellipsis, as the masks' bits say."""
    masks = Masks(begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    known = computed.ints(b, "begin or end", begin, end) if b.spec(input).is_static else None
    if known is None:
        return computed.strided_slice(b, input, computed.numbers(b, begin), computed.numbers(b, end), b.ints(strides, "strides"), masks)
    first, last = known
    return masked.strided_slice(b, input, first, last, b.ints(strides, "strides"), masks)


def pad(b: Builder, input: SSAValue, paddings: SSAValue) -> SSAValue:
    before, after = _pairs(b, paddings, input)
    return padded(b, input, before, after)


def pad_v2(b: Builder, input: SSAValue, paddings: SSAValue, constant_values: SSAValue) -> SSAValue:
    before, after = _pairs(b, paddings, input)
    return padded(b, input, before, after, b.number(constant_values, "constant_values"))


def mirror_pad(b: Builder, input: SSAValue, paddings: SSAValue, *, mode: str) -> SSAValue:
    """Pad with mirror images: REFLECT does not repeat the border, SYMMETRIC does."""
    if mode not in ("REFLECT", "SYMMETRIC"):
        raise Error("E0402", f"mode '{mode[:20]}' is unknown")
    return masked.mirror_pad(b, input, *_pairs(b, paddings, input), with_border=mode == "SYMMETRIC")


def _pairs(b: Builder, paddings: SSAValue, x: SSAValue) -> tuple[Ints, Ints]:
    """Margins before and after.  Raises E0402."""
    found = b.need(paddings, "paddings")
    if found.shape != (b.rank(x), 2) or found.dtype.kind not in "iu" or found.min(initial=0) < 0:
        raise Error("E0402", f"paddings {list(found.shape)} do not fit {b.spec(x)}")
    return tuple(int(v) for v in found[:, 0]), tuple(int(v) for v in found[:, 1])


def gather(b: Builder, params: SSAValue, indices: SSAValue, axis: SSAValue, *, batch_dims: int = 0) -> SSAValue:
    return _gathered(b, params, indices, int(b.number(axis, "axis")), batch_dims)


def _gathered(b: Builder, params: SSAValue, indices: SSAValue, axis: int, batch_dims: int) -> SSAValue:
    """Without a batch, what is taken may be of computed sizes."""
    if batch_dims == 0 and not (b.spec(params).is_static and b.spec(indices).is_static):
        places = indices if str(b.dtype(indices)) in ("int32", "int64") else b.cast(indices, INT64)
        return b.nn("gather", params, places, axis=axis_in(axis, b.rank(params)))
    return masked.gather(b, params, indices, axis, batch_dims)


def gather_old(b: Builder, params: SSAValue, indices: SSAValue) -> SSAValue:
    return _gathered(b, params, indices, 0, 0)


def gather_nd(b: Builder, params: SSAValue, indices: SSAValue, *, bad_indices_policy: str = "") -> SSAValue:
    _refuse_bad(bad_indices_policy)
    return b.nn("gather_nd", params, indices, batch_dims=0)


def _refuse_bad(policy: str) -> None:
    """An index out of range is an error when the program runs."""
    if policy not in ("", "DEFAULT", "ERROR"):
        raise Unsupported(f"bad_indices_policy {policy[:20]}")


def scatter_nd(b: Builder, indices: SSAValue, updates: SSAValue, shape: SSAValue, *, bad_indices_policy: str = "") -> SSAValue:
    """Return zeros to which updates are added."""
    _refuse_bad(bad_indices_policy)
    zeros = b.nn("expand", b.scalar(0, updates), shape=b.ints(shape, "shape"))
    return b.nn("scatter_nd", zeros, b.cast(indices, INT64), updates, reduction="add")


def tensor_scatter(reduction: str, *, negated: bool = False) -> Callable[..., SSAValue]:
    """Return the tensor with updates, or their negatives, put in or combined with what is there."""

    def apply(b: Builder, tensor: SSAValue, indices: SSAValue, updates: SSAValue, *, bad_indices_policy: str = "") -> SSAValue:
        _refuse_bad(bad_indices_policy)
        return b.nn("scatter_nd", tensor, b.cast(indices, INT64), b.nn("neg", updates) if negated else updates, reduction=reduction)

    return apply


def one_hot(b: Builder, indices: SSAValue, depth: SSAValue, on_value: SSAValue, off_value: SSAValue, *, axis: int = -1) -> SSAValue:
    return masked.one_hot(b, indices, int(b.number(depth, "depth")), on_value, off_value, axis)


def band_part(b: Builder, input: SSAValue, num_lower: SSAValue, num_upper: SSAValue) -> SSAValue:
    """Return matrices within a band of diagonals; a negative count keeps all."""
    lower, upper = int(b.number(num_lower, "num_lower")), int(b.number(num_upper, "num_upper"))
    if upper >= 0:
        input = triangle(b, input, upper, upper=False)
    return input if lower < 0 else triangle(b, input, -lower, upper=True)


def reverse(b: Builder, tensor: SSAValue, axis: SSAValue) -> SSAValue:
    return masked.reverse(b, tensor, b.ints(axis, "axis"))


def reverse_sequence(b: Builder, input: SSAValue, seq_lengths: SSAValue, *, seq_dim: int, batch_dim: int = 0) -> SSAValue:
    rank = b.rank(input)
    return b.nn("reverse_sequence", input, seq_lengths, time_axis=axis_in(seq_dim, rank), batch_axis=axis_in(batch_dim, rank))


def roll(b: Builder, input: SSAValue, shift: SSAValue, axis: SSAValue) -> SSAValue:
    """Return elements moved along axes; those past the end come in at the beginning."""
    for by, along in zip(b.ints(shift, "shift"), b.ints(axis, "axis"), strict=False):
        at = axis_in(along, b.rank(input))
        size = b.shape(input)[at]
        if size > 1 and by % size:
            cut = size - by % size
            tail, head = b.nn_all("split", input, axis=at, sizes=(cut, size - cut))
            input = b.nn("concat", head, tail, axis=at)
    return input


def where(b: Builder, condition: SSAValue) -> SSAValue:
    """Return places of elements that are not 0: [?, rank]."""
    return b.nn("transpose", b.nn("non_zero", condition), perm=(1, 0))


def invert_permutation(b: Builder, x: SSAValue) -> SSAValue:
    order = b.ints(x, "permutation")
    if sorted(order) != list(range(len(order))):
        raise Error("E0402", f"{list(order)[:8]} is no permutation")
    return b.constant(np.argsort(order).astype(b.dtype(x)))


ROWS: Rows = {
    "Slice": slice_,
    "StridedSlice": strided_slice,
    "Pad": pad,
    "PadV2": pad_v2,
    "MirrorPad": mirror_pad,
    "Gather": gather_old,
    "GatherV2": gather,
    "GatherNd": gather_nd,
    "ScatterNd": scatter_nd,
    "TensorScatterUpdate": tensor_scatter("none"),
    "TensorScatterAdd": tensor_scatter("add"),
    "TensorScatterSub": tensor_scatter("add", negated=True),
    "TensorScatterMax": tensor_scatter("max"),
    "TensorScatterMin": tensor_scatter("min"),
    "OneHot": one_hot,
    "MatrixBandPart": band_part,
    "ReverseV2": reverse,
    "ReverseSequence": reverse_sequence,
    "Roll": roll,
    "Where": where,
    "InvertPermutation": invert_permutation,
}
