"""Ops whose result has as many elements as the data decides: its dimension is dynamic, and they run on the host."""

from __future__ import annotations

import numpy as np
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import BOOL, INT
from ttc.dialects.core.ir.spec import DYNAMIC, Spec
from ttc.dialects.core.shapes import axis_in
from ttc.dialects.nn.base import TENSOR, NNOp, require_rank, same_dtype
from ttc.dialects.nn.elementwise import ANY, NUMERIC, require_kind

INDEX_TYPE = np.dtype(np.int64)


@irdl_op_definition
class NonZeroOp(NNOp):
    """Indices of the elements that are not 0, in row-major order; column i holds those of element i.

    Args:    x: tensor[...], any dtype.
    Returns: y: tensor[rank, ?], int64.
    Source:  ONNX NonZero-13; torch.nonzero (transposed).
    """

    name = "nn.non_zero"
    x = operand_def(TENSOR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec) -> Spec:
        return Spec((require_kind(x, ANY).rank, DYNAMIC), INDEX_TYPE)


@irdl_op_definition
class CompressOp(NNOp):
    """The slices of x along one axis for which a condition holds; without an axis, the elements of x in row-major order.

    Args:    x: tensor[..., d_axis, ...], any dtype.  condition: tensor[n], bool, n <= d_axis: what lies beyond is dropped.
             axis: in [-rank, rank); absent: x is flattened.
    Returns: y: tensor[..., ?, ...], or [?], x's dtype.  A condition that is too long is E0802 when the op runs.
    Raises:  E0412 if axis is outside the rank, E0401 if condition is not of rank 1, E0403 if it is not bool.
    Source:  ONNX Compress-11; numpy.compress.
    """

    name = "nn.compress"
    x = operand_def(TENSOR)
    condition = operand_def(TENSOR)
    axis = opt_prop_def(INT)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, condition: Spec, *, axis: int | None = None) -> Spec:
        require_rank(require_kind(condition, "b"), 1)
        if axis is None:
            return Spec((DYNAMIC,), x.dtype)
        place = axis_in(axis, x.rank)
        return Spec((*x.shape[:place], DYNAMIC, *x.shape[place + 1 :]), x.dtype)


@irdl_op_definition
class UniqueOp(NNOp):
    """The different slices of x along one axis; without an axis, the different elements.

    Args:    x: tensor[..., d_axis, ...], numbers or bool.  sorted: ascending, or in order of first appearance.
             axis: in [-rank, rank); absent: x is flattened.
    Returns: values: tensor[..., ?, ...], or [?], x's dtype.  first: tensor[?], int64: where each appears first.
             inverse: tensor[d_axis], int64: for each slice of x its place in values.  counts: tensor[?], int64: how often each appears.
    Raises:  E0412 if axis is outside the rank.
    Source:  ONNX Unique-11; torch.unique.
    """

    name = "nn.unique"
    x = operand_def(TENSOR)
    sorted = prop_def(BOOL)
    axis = opt_prop_def(INT)
    values = result_def(TENSOR)
    first = result_def(TENSOR)
    inverse = result_def(TENSOR)
    counts = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, *, sorted: bool, axis: int | None = None) -> tuple[Spec, ...]:
        require_kind(x, ANY)
        place = 0 if axis is None else axis_in(axis, x.rank)
        shape = (DYNAMIC,) if axis is None else (*x.shape[:place], DYNAMIC, *x.shape[place + 1 :])
        length = (x.elements if x.is_static else DYNAMIC) if axis is None else x.shape[place]
        count = Spec((DYNAMIC,), INDEX_TYPE)
        return Spec(shape, x.dtype), count, Spec((length,), INDEX_TYPE), count


@irdl_op_definition
class RangeOp(NNOp):
    """Numbers at equal distances: y[i] = start + i * delta while that is below limit, or above it for a negative delta.

    Args:    start, limit, delta: tensor[], numbers of one dtype.
    Returns: y: tensor[?] of that dtype.  A delta of 0, infinite numbers and more than 16 M elements are E0802 when the op runs.
    Raises:  E0401 if an operand has a dimension, E0403 for bool or differing dtypes.
    Source:  ONNX Range-11 (constant operands: the importer computes it); torch.arange.
    """

    name = "nn.range"
    start = operand_def(TENSOR)
    limit = operand_def(TENSOR)
    delta = operand_def(TENSOR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, start: Spec, limit: Spec, delta: Spec) -> Spec:
        for x in (start, limit, delta):
            if require_kind(x, NUMERIC).rank:
                raise Error("E0401", f"a range takes numbers without dimensions, not {x}")
        return Spec((DYNAMIC,), same_dtype(start, limit, delta))


@irdl_op_definition
class OneHotOp(NNOp):
    """A new axis on which each index marks its place: y = values[1] at the index, values[0] elsewhere; negative ones count from the end.

    Args:    indices: tensor[...], numbers.  depth: tensor[], a number: the new axis's size.  values: tensor[2], any dtype.
             axis: of the result, in [-rank - 1, rank].
    Returns: y: tensor[..., ?, ...], values' dtype.  A depth that is not positive, or over 16 M elements, is E0802 when the op runs.
    Raises:  E0401 if depth has a dimension or values not two elements, E0412 if axis is outside the rank.
    Source:  ONNX OneHot-11 (constant depth: the importer compares with a range).
    """

    name = "nn.one_hot"
    indices = operand_def(TENSOR)
    depth = operand_def(TENSOR)
    values = operand_def(TENSOR)
    axis = prop_def(INT)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, indices: Spec, depth: Spec, values: Spec, *, axis: int) -> Spec:
        require_kind(indices, NUMERIC)
        if require_kind(depth, NUMERIC).rank or values.shape != (2,):
            raise Error("E0401", f"depth {depth} is not a number, or values {values} are not two")
        place = axis_in(axis, indices.rank + 1)
        return Spec((*indices.shape[:place], DYNAMIC, *indices.shape[place:]), values.dtype)
