"""Ops of onnxruntime's domain that ONNX has since, or that are moves and parts of tensors."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common.builder import Builder
from ttc.importers.common.fourier import transform
from ttc.importers.common.padding import untrained_padding
from ttc.importers.common.parts import element, stacked
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.ops_constant import range_11
from ttc.importers.onnx.ops_index import gather_nd_11, pad_11, trilu_14
from ttc.importers.onnx.ops_sampling import grid_sample_16
from ttc.importers.onnx.ops_selection import unique_11
from ttc.importers.onnx.tables import MAPPINGS

Ints: TypeAlias = tuple[int, ...]


@MAPPINGS.rule("com.microsoft.Trilu-1")
def trilu_1(b: Builder, x: SSAValue, k: SSAValue | None = None, *, upper: int = 1) -> SSAValue:
    return trilu_14(b, x, k, upper=upper)


@MAPPINGS.rule("com.microsoft.GatherND-1")
def gather_nd_1(b: Builder, x: SSAValue, indices: SSAValue) -> SSAValue:
    return gather_nd_11(b, x, indices)


@MAPPINGS.rule("com.microsoft.GridSample-1")
def grid_sample_1(
    b: Builder, x: SSAValue, grid: SSAValue, *, align_corners: int = 0, mode: str = "bilinear", padding_mode: str = "zeros"
) -> SSAValue:
    return grid_sample_16(b, x, grid, align_corners=align_corners, mode=mode, padding_mode=padding_mode)


@MAPPINGS.rule("com.microsoft.Pad-1")
def pad_1(b: Builder, x: SSAValue, pads: SSAValue, value: SSAValue | None = None, *, mode: str = "constant") -> SSAValue:
    """Map Pad, whose pads may have a leading dimension of 1."""
    return pad_11(b, x, b.reshape(pads, b.spec(pads).elements), value, mode=mode)


@MAPPINGS.rule("com.microsoft.Range-1")
def range_1(b: Builder, start: SSAValue, limit: SSAValue, delta: SSAValue | None = None) -> SSAValue:
    return range_11(b, start, limit, b.scalar(1, start) if delta is None else delta)


@MAPPINGS.rule("com.microsoft.Unique-1")
def unique_1(b: Builder, x: SSAValue) -> tuple[SSAValue, ...]:
    """Return elements in the order of first appearance, where the operand's elements are among these, and how often."""
    y, _, places, counts = unique_11(b, x, sorted=0)
    return y, places, counts


@MAPPINGS.rule("com.microsoft.ExpandDims-1")
def expand_dims_1(b: Builder, x: SSAValue, axis: SSAValue) -> SSAValue:
    shape = b.shape(x)
    at = axis_in(int(b.number(axis, "axis")), len(shape) + 1)
    return b.nn("reshape", x, shape=(*shape[:at], 1, *shape[at:]))


@MAPPINGS.rule("com.microsoft.UnfoldTensor-1")
def unfold_tensor_1(b: Builder, x: SSAValue, *, dim: int = -1, size: int, step: int = 1) -> SSAValue:
    """Return windows of one dimension, along a new last one."""
    shape = b.shape(x)
    at = axis_in(dim, len(shape))
    if not 0 < size <= shape[at] or step < 1:
        raise Error("E0402", f"windows of {size} every {step} do not fit dimension {dim} of {b.spec(x)}")
    starts = np.arange(0, shape[at] - size + 1, step)
    y = b.nn("gather", x, b.constant(starts[:, None] + np.arange(size)), axis=at)
    rank = len(shape) + 1
    return b.nn("transpose", y, perm=(*range(at + 1), *range(at + 2, rank), at + 1))


@MAPPINGS.rule("com.microsoft.TorchEmbedding-1")
def torch_embedding_1(
    b: Builder, table: SSAValue, indices: SSAValue, padding_idx: SSAValue | None = None, scale_grad: SSAValue | None = None
) -> SSAValue:
    """Return rows of a table, of which that of the padding gets no gradient; gradients are not scaled."""
    found = b.nn("gather", table, indices, axis=0)
    return found if padding_idx is None else untrained_padding(b, found, indices, b.cast(padding_idx, b.dtype(indices)))


@MAPPINGS.rule("com.microsoft.SampleOp-1")
def sample_op_1(b: Builder, x: SSAValue) -> SSAValue:
    return b.nn("identity", x)


@MAPPINGS.rule("com.microsoft.IsAllFinite-1")
def is_all_finite_1(b: Builder, *inputs: SSAValue, isinf_only: int = 0, isnan_only: int = 0) -> SSAValue:
    """Return whether no element of any input is infinite or NaN."""
    if isinf_only and isnan_only:
        raise Error("E0402", "isinf_only and isnan_only exclude each other")
    found: SSAValue | None = None
    for x in inputs:
        tests = [b.nn(op, x) for op, off in (("is_inf", isnan_only), ("is_nan", isinf_only)) if not off]
        bad = b.nn("or", *tests) if len(tests) > 1 else tests[0]
        bad = b.nn("reduce_max", b.cast(bad, np.dtype(np.int32)), axes=tuple(range(b.rank(x))), keepdims=False)
        found = bad if found is None else b.nn("maximum", found, bad)
    if found is None:
        raise Error("E0203", "IsAllFinite takes at least one input")
    return b.nn("equal", found, b.scalar(0, found))


@MAPPINGS.rule("com.microsoft.CropAndResize-1")
def crop_and_resize_1(
    b: Builder, x: SSAValue, rois: SSAValue, batch: SSAValue, size: SSAValue, *, extrapolation_value: float = 0.0, mode: str = "bilinear"
) -> SSAValue:
    """Return regions [y1, x1, y2, x2] of x[n, c, h, w], in parts of its size, resized: corners lie on corners."""
    sizes = b.ints(size, "crop_size")
    if mode not in ("bilinear", "nearest") or len(sizes) != 2 or not 0 < min(sizes) <= max(sizes) < 1 << 16 or extrapolation_value:
        raise Unsupported(f"mode '{mode[:20]}', crop_size {list(sizes[:4])} or an extrapolation_value other than 0")
    count = b.shape(rois)[0]
    sides = [element(b, rois, 1, i) for i in range(4)]
    rows, columns = (_places(b, sides[i], sides[i + 2], sizes[i], count) for i in range(2))
    shape = count, *sizes, 1
    down = b.nn("expand", b.reshape(rows, count, sizes[0], 1, 1), shape=shape)
    grid = b.nn("concat", b.nn("expand", columns, shape=shape), down, axis=3)
    images = b.nn("gather", x, batch, axis=0)
    return b.nn("grid_sample", images, grid, mode="linear" if mode == "bilinear" else "nearest", padding="zeros", align_corners=True)


def _places(b: Builder, first: SSAValue, last: SSAValue, count: int, regions: int) -> SSAValue:
    """Places [regions, 1, count, 1] of samples, from -1 to 1 as grid_sample has them; a single one is in the middle."""
    steps = b.constant(np.linspace(0, 1, count) if count > 1 else np.array([0.5]), b.dtype(first))
    start, end = (b.reshape(v, regions, 1) for v in (first, last))
    along = b.nn("add", start, b.nn("mul", b.nn("sub", end, start), steps))
    return b.nn("reshape", b.nn("sub", b.nn("mul", along, b.scalar(2, along)), b.scalar(1, along)), shape=(regions, 1, count, 1))


@MAPPINGS.rule("com.microsoft.Rfft-1")
def rfft_1(b: Builder, x: SSAValue, *, normalized: int = 0, onesided: int = 1, signal_ndim: int = 1) -> SSAValue:
    """Return half the spectrum of the last dimension, [..., n / 2 + 1, 2]."""
    _require_one(normalized, onesided, signal_ndim)
    rank = b.rank(x)
    return stacked(b, transform(b, [x], rank - 1, b.shape(x)[-1], inverse=False, onesided=True), -1)


@MAPPINGS.rule("com.microsoft.Irfft-1")
def irfft_1(b: Builder, x: SSAValue, *, normalized: int = 0, onesided: int = 1, signal_ndim: int) -> SSAValue:
    """Return real numbers [..., 2 (n - 1)] from half their spectrum [..., n, 2]."""
    _require_one(normalized, onesided, signal_ndim)
    rank = b.rank(x)
    if rank < 2 or b.shape(x)[-1] != 2:
        raise Error("E0401", f"{b.spec(x)} does not end in real and imaginary parts")
    parts = [element(b, x, rank - 1, i) for i in range(2)]
    (y,) = transform(b, parts, rank - 2, 2 * (b.shape(x)[-2] - 1), inverse=True, onesided=True)
    return y


def _require_one(normalized: int, onesided: int, dimensions: int) -> None:
    if normalized or not onesided or dimensions != 1:
        raise Unsupported(f"normalized = {normalized}, onesided = {onesided}, signal_ndim = {dimensions}")


@MAPPINGS.rule("com.microsoft.ComplexMul-1")
def complex_mul_1(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return products of numbers whose real and imaginary parts lie along the last dimension."""
    return _complex_product(b, x, y, conjugated=False)


@MAPPINGS.rule("com.microsoft.ComplexMulConj-1")
def complex_mul_conj_1(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return x times the conjugate of y."""
    return _complex_product(b, x, y, conjugated=True)


def _complex_product(b: Builder, x: SSAValue, y: SSAValue, *, conjugated: bool) -> SSAValue:
    if any(b.rank(v) < 1 or b.shape(v)[-1] != 2 for v in (x, y)):
        raise Error("E0401", f"{b.spec(x)} and {b.spec(y)} do not end in real and imaginary parts")
    (p, q), (r, s) = ([element(b, v, b.rank(v) - 1, i) for i in range(2)] for v in (x, y))
    s = b.nn("neg", s) if conjugated else s
    real = b.nn("sub", b.nn("mul", p, r), b.nn("mul", q, s))
    return stacked(b, [real, b.nn("add", b.nn("mul", p, s), b.nn("mul", q, r))], -1)
