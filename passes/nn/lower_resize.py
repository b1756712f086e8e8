"""The pass that writes resizing as views and products with constant matrices."""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ttc.dialects.core.ir.leaves import ConstantOp
from ttc.dialects.core.records import record
from ttc.dialects.nn.linear import MatmulOp
from ttc.dialects.nn.resize import ResizeOp
from ttc.dialects.nn.shape import ExpandOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.match import reshaped, shape_of, spec, stem_of, sweep_entries

MAX_MATRIX = 1 << 20
"""The most elements of the matrix by which a dimension is resized."""


@record
class LowerResize(Pass):
    """Resize dimension after dimension: repeating elements is an expand; for targets with tiles, all else is a product with a matrix.

    Before:
        (%x: tensor<1x2x3x4xf32>)
        %0 = nn.resize(%x) {antialias = false, coordinates = "asymmetric", cubic = -0.75, exclude_outside = false, fill = 0.0,
            mode = "nearest", rounding = "floor", scales = [1.0, 2.0, 1.0, 1.0], sizes = [1, 4, 3, 4],
            window = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]} : (tensor<1x2x3x4xf32>) -> tensor<1x4x3x4xf32>
        return %0 : tensor<1x4x3x4xf32>
    After:
        (%x: tensor<1x2x3x4xf32>)
        %0 = nn.reshape(%x) {shape = [1, 2, 1, 3, 4]} : (tensor<1x2x3x4xf32>) -> tensor<1x2x1x3x4xf32>
        %1 = nn.expand(%0) {shape = [1, 2, 2, 3, 4]} : (tensor<1x2x1x3x4xf32>) -> tensor<1x2x2x3x4xf32>
        %2 = nn.reshape(%1) {shape = [1, 4, 3, 4]} : (tensor<1x2x2x3x4xf32>) -> tensor<1x4x3x4xf32>
        return %2 : tensor<1x4x3x4xf32>
    Missed:
        samples may lie outside (tf_crop_and_resize); a matrix would have more than a million elements; integers that are not repeated.
        Without tiles, resizing that repeats nothing stays an op.
    """

    name: ClassVar[str] = "lower-resize"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        sweep_entries(unit, rewriter, {ResizeOp: lambda op: _lower(op, unit, rewriter)})


def _lower(op: ResizeOp, unit: Unit, rewriter: Rewriter) -> None:
    before, after = shape_of(op.operands[0]), shape_of(op.results[0])
    attrs = op.plain_attrs()
    axes = [i for i in range(len(before)) if before[i] != after[i] or attrs["scales"][i] != 1.0]
    reason = "samples may lie outside" if attrs["coordinates"] == "tf_crop_and_resize" else None
    if any(before[i] * after[i] > MAX_MATRIX for i in axes):
        reason = "its matrix is too large"
    if reason is not None:
        rewriter.missed(op, f"the resize stays: {reason}")
        return
    matrices = {axis: _matrix(op, axis) for axis in axes}
    repeats = all(_repeats(matrix) for matrix in matrices.values())
    if not repeats and (unit.target.tile is None or spec(op.results[0]).dtype.kind != "f"):
        rewriter.missed(op, "the resize stays: it does more than repeat elements")
        return
    if not rewriter.allow("lower-resize", op):
        return
    value = op.operands[0]
    for axis, matrix in sorted(matrices.items(), key=lambda item: item[1].shape[1] / item[1].shape[0]):
        count = _repeats(matrix)
        value = _repeated(op, value, axis, count, rewriter) if count else _product(op, value, axis, matrix, unit, rewriter)
    rewriter.applied(op, f"resize of {len(axes)} dimensions is {'views' if repeats else 'products'}")
    rewriter.replace(op, value)


def _matrix(op: ResizeOp, axis: int) -> NDArray:
    """matrix[old, new]: how much of each element of a dimension is in each of its samples; the resize of unit vectors."""
    attrs = op.plain_attrs()
    size, count = shape_of(op.operands[0])[axis], attrs["sizes"][axis]
    one = {**attrs, "sizes": (size, count), "scales": (1.0, attrs["scales"][axis]), "window": (0.0, 0.0, 1.0, 1.0)}
    dtype = spec(op.operands[0]).dtype
    return np.asarray(ResizeOp.evaluate(np.eye(size, dtype=np.float64), **one)).astype(dtype if dtype.kind == "f" else np.float32)


def _repeats(matrix: NDArray) -> int:
    """Return how often each element is repeated in place; 0 if samples are anything else."""
    size, count = matrix.shape
    if count % size:
        return 0
    return count // size if np.array_equal(matrix, np.repeat(np.eye(size), count // size, axis=1)) else 0


def _repeated(op: ResizeOp, value: SSAValue, axis: int, count: int, rewriter: Rewriter) -> SSAValue:
    shape = shape_of(value)
    apart = reshaped(rewriter, op, value, (*shape[: axis + 1], 1, *shape[axis + 1 :]))
    wide = rewriter.build(op, ExpandOp, apart, shape=(*shape[: axis + 1], count, *shape[axis + 1 :])).results[0]
    return reshaped(rewriter, op, wide, (*shape[:axis], shape[axis] * count, *shape[axis + 1 :]))


def _product(op: ResizeOp, value: SSAValue, axis: int, matrix: NDArray, unit: Unit, rewriter: Rewriter) -> SSAValue:
    """Return the dimension multiplied by the matrix: as columns if it is the last one, else as rows of all that follows."""
    shape, (size, count) = shape_of(value), matrix.shape
    after = prod(shape[axis + 1 :])
    flags: dict[str, Any] = {"transpose_a": False, "transpose_b": False}
    if after == 1:
        flat = reshaped(rewriter, op, value, (*shape[:axis], size))
        flat = flat if axis else reshaped(rewriter, op, flat, (1, size))
        made = rewriter.build(op, MatmulOp, flat, _constant(op, matrix, unit, rewriter), None, **flags).results[0]
    else:
        flat = reshaped(rewriter, op, value, (prod(shape[:axis]), size, after))
        rows = _constant(op, matrix.T, unit, rewriter)
        made = rewriter.build(op, MatmulOp, rows, flat, None, **flags).results[0]
    return reshaped(rewriter, op, made, (*shape[:axis], count, *shape[axis + 1 :]))


def _constant(op: ResizeOp, matrix: NDArray, unit: Unit, rewriter: Rewriter) -> SSAValue:
    return rewriter.insert(op, ConstantOp.weight(matrix, unit.weights, f"{stem_of(op)}.matrix", rewriter.location((op,)))).result
