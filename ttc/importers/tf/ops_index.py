"""Parts of tensors: slices, pads, gathers, scatters, one-hot."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.nn.base import axis_in
from ttc.importers.common import masked
from ttc.importers.common.builder import Builder
from ttc.importers.common.masked import Masks
from ttc.importers.common.parts import padded, triangle
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.tf.tables import Rows

Ints: TypeAlias = tuple[int, ...]
Floats: TypeAlias = tuple[float, ...]
INT32, INT64 = np.dtype(np.int32), np.dtype(np.int64)


def slice_(b: Builder, input: SSAValue, begin: SSAValue, size: SSAValue) -> SSAValue:
    """Of given sizes; -1 reaches to the end."""
    starts, sizes, shape = b.ints(begin, "begin"), b.ints(size, "size"), b.shape(input)
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
    """Python's x[...]: an entry a slice, a new axis, an index or the ellipsis, as the masks' bits say."""
    masks = Masks(begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    return masked.strided_slice(b, input, b.ints(begin, "begin"), b.ints(end, "end"), b.ints(strides, "strides"), masks)


def pad(b: Builder, input: SSAValue, paddings: SSAValue) -> SSAValue:
    before, after = _pairs(b, paddings, input)
    return padded(b, input, before, after)


def pad_v2(b: Builder, input: SSAValue, paddings: SSAValue, constant_values: SSAValue) -> SSAValue:
    before, after = _pairs(b, paddings, input)
    return padded(b, input, before, after, b.number(constant_values, "constant_values"))


def mirror_pad(b: Builder, input: SSAValue, paddings: SSAValue, *, mode: str) -> SSAValue:
    """REFLECT does not repeat the border, SYMMETRIC does."""
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
    return masked.gather(b, params, indices, int(b.number(axis, "axis")), batch_dims)


def gather_old(b: Builder, params: SSAValue, indices: SSAValue) -> SSAValue:
    return masked.gather(b, params, indices, 0, 0)


def gather_nd(b: Builder, params: SSAValue, indices: SSAValue, *, bad_indices_policy: str = "") -> SSAValue:
    _refuse_bad(bad_indices_policy)
    return b.nn("gather_nd", params, indices, batch_dims=0)


def _refuse_bad(policy: str) -> None:
    """An index out of range is an error when the program runs."""
    if policy not in ("", "DEFAULT", "ERROR"):
        raise Unsupported(f"bad_indices_policy {policy[:20]}")


def scatter_nd(b: Builder, indices: SSAValue, updates: SSAValue, shape: SSAValue, *, bad_indices_policy: str = "") -> SSAValue:
    """Zeros to which updates are added."""
    _refuse_bad(bad_indices_policy)
    zeros = b.nn("expand", b.scalar(0, updates), shape=b.ints(shape, "shape"))
    return b.nn("scatter_nd", zeros, b.cast(indices, INT64), updates, reduction="add")


def tensor_scatter(b: Builder, tensor: SSAValue, indices: SSAValue, updates: SSAValue, *, bad_indices_policy: str = "") -> SSAValue:
    _refuse_bad(bad_indices_policy)
    return b.nn("scatter_nd", tensor, b.cast(indices, INT64), updates, reduction="none")


def tensor_scatter_add(b: Builder, tensor: SSAValue, indices: SSAValue, updates: SSAValue, *, bad_indices_policy: str = "") -> SSAValue:
    _refuse_bad(bad_indices_policy)
    return b.nn("scatter_nd", tensor, b.cast(indices, INT64), updates, reduction="add")


def one_hot(b: Builder, indices: SSAValue, depth: SSAValue, on_value: SSAValue, off_value: SSAValue, *, axis: int = -1) -> SSAValue:
    return masked.one_hot(b, indices, int(b.number(depth, "depth")), on_value, off_value, axis)


def band_part(b: Builder, input: SSAValue, num_lower: SSAValue, num_upper: SSAValue) -> SSAValue:
    """Matrices within a band of diagonals; a negative count keeps all."""
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
    """Elements moved along axes; those past the end come in at the beginning."""
    for by, along in zip(b.ints(shift, "shift"), b.ints(axis, "axis"), strict=False):
        at = axis_in(along, b.rank(input))
        size = b.shape(input)[at]
        if size > 1 and by % size:
            cut = size - by % size
            tail, head = b.nn_all("split", input, axis=at, sizes=(cut, size - cut))
            input = b.nn("concat", head, tail, axis=at)
    return input


def where(b: Builder, condition: SSAValue) -> SSAValue:
    """Places of elements that are not 0: [?, rank]."""
    return b.nn("transpose", b.nn("non_zero", condition), perm=(1, 0))


def bucketize(b: Builder, input: SSAValue, *, boundaries: Floats) -> SSAValue:
    """How many of the boundaries, which rise, are not above each element."""
    if len(boundaries) > 1 << 12 or list(boundaries) != sorted(boundaries):
        raise Error("E0402", "boundaries that do not rise, or too many")
    real = b.cast(input, np.dtype(np.float64))
    limits = b.constant(np.array(boundaries, np.float64))
    reached = b.cast(b.nn("greater_equal", b.reshape(real, *b.shape(real), 1), limits), INT32)
    return b.nn("reduce_sum", reached, axes=(b.rank(real),), keepdims=False)


def dense_bincount(b: Builder, input: SSAValue, size: SSAValue, weights: SSAValue, *, binary_output: bool = False) -> SSAValue:
    """How often each number below the size occurs, in all or in each row, or the sum of the weights there; or whether it occurs."""
    count, rank = int(b.number(size, "size")), b.rank(input)
    if not 0 <= count <= 1 << 16 or rank not in (1, 2) or b.spec(weights).elements not in (0, b.spec(input).elements):
        raise Error("E0402", f"{count} counts of {b.spec(input)} with weights {b.spec(weights)}")
    places = b.constant(np.arange(count, dtype=b.dtype(input)))
    hits = b.cast(b.nn("equal", b.reshape(input, *b.shape(input), 1), places), b.dtype(weights))
    if binary_output:
        return b.nn("reduce_max", hits, axes=(rank - 1,), keepdims=False)
    if b.spec(weights).elements:
        hits = b.nn("mul", hits, b.reshape(weights, *b.shape(weights), 1))
    return b.nn("reduce_sum", hits, axes=(rank - 1,), keepdims=False)


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
    "TensorScatterUpdate": tensor_scatter,
    "TensorScatterAdd": tensor_scatter_add,
    "OneHot": one_hot,
    "MatrixBandPart": band_part,
    "ReverseV2": reverse,
    "ReverseSequence": reverse_sequence,
    "Roll": roll,
    "Where": where,
    "Bucketize": bucketize,
    "DenseBincount": dense_bincount,
    "InvertPermutation": invert_permutation,
}
