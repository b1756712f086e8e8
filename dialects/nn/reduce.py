"""Reductions over axes, places of extremes, cumulative sums."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from ttc.dialects.core.ir.attributes import BOOL, INT, INTS
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.core.shapes import axes_in
from ttc.dialects.nn.base import TENSOR, NNOp
from ttc.dialects.nn.elementwise import ANY, NUMERIC, require_kind
from ttc.dialects.nn.shapes import reduce as shapes


class ReduceOp(NNOp):
    """y = the elements of x along the axes combined to one.  No axes: y = x.  KINDS: numpy kinds of the dtypes it takes."""

    KINDS: ClassVar[str] = NUMERIC
    x = operand_def(TENSOR)
    axes = prop_def(INTS)
    keepdims = prop_def(BOOL)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, *, axes: tuple[int, ...], keepdims: bool) -> Spec:
        require_kind(x, cls.KINDS)
        return Spec(shapes.reduced_shape(x.shape, axes_in(axes, x.rank), keepdims), x.dtype)


@irdl_op_definition
class ReduceSumOp(ReduceOp):
    """Sum over axes; 0 of no elements.  Integers wrap around.

    Args:    x: tensor[...], numbers.  axes: distinct, in [-rank, rank); none: y = x.  keepdims: whether they stay, of size 1.
    Returns: y: x's shape without the axes, x's dtype.
    Raises:  E0412 if an axis is outside the rank or named twice, E0403 for bool.
    Source:  ONNX ReduceSum-13 (no axes given: the importer names all); torch.sum.
    """

    name = "nn.reduce_sum"


@irdl_op_definition
class ReduceMeanOp(ReduceOp):
    """Mean over axes; NaN of no elements.  Of integers: toward zero, and 0 of none.

    Args:    x: tensor[...], numbers.  axes: distinct, in [-rank, rank); none: y = x.  keepdims: whether they stay, of size 1.
    Returns: y: x's shape without the axes, x's dtype.
    Raises:  E0412 if an axis is outside the rank or named twice, E0403 for bool.
    Source:  ONNX ReduceMean-18; torch.mean.
    """

    name = "nn.reduce_mean"


@irdl_op_definition
class ReduceMaxOp(ReduceOp):
    """Largest element over axes; of no elements -inf, or the least that the dtype holds; NaN if there is one.

    Args:    x: tensor[...], any dtype.  axes: distinct, in [-rank, rank); none: y = x.  keepdims: whether they stay, of size 1.
    Returns: y: x's shape without the axes, x's dtype.
    Raises:  E0412 if an axis is outside the rank or named twice.
    Source:  ONNX ReduceMax-20; torch.amax.
    """

    name = "nn.reduce_max"
    KINDS: ClassVar[str] = ANY


@irdl_op_definition
class ReduceMinOp(ReduceOp):
    """Smallest element over axes; of no elements inf, or the largest that the dtype holds; NaN if there is one.

    Args:    x: tensor[...], any dtype.  axes: distinct, in [-rank, rank); none: y = x.  keepdims: whether they stay, of size 1.
    Returns: y: x's shape without the axes, x's dtype.
    Raises:  E0412 if an axis is outside the rank or named twice.
    Source:  ONNX ReduceMin-20; torch.amin.
    """

    name = "nn.reduce_min"
    KINDS: ClassVar[str] = ANY


@irdl_op_definition
class ReduceProdOp(ReduceOp):
    """Product over axes; 1 of no elements.  Integers wrap around.

    Args:    x: tensor[...], numbers.  axes: distinct, in [-rank, rank); none: y = x.  keepdims: whether they stay, of size 1.
    Returns: y: x's shape without the axes, x's dtype.
    Raises:  E0412 if an axis is outside the rank or named twice, E0403 for bool.
    Source:  ONNX ReduceProd-18; torch.prod.
    """

    name = "nn.reduce_prod"


class ArgOp(NNOp):
    """y = the place of an extreme along one axis, as int64."""

    x = operand_def(TENSOR)
    axis = prop_def(INT)
    keepdims = prop_def(BOOL)
    select_last = prop_def(BOOL)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, *, axis: int, keepdims: bool, select_last: bool) -> Spec:
        shape = shapes.argmax(require_kind(x, NUMERIC).shape, axis=axis, keepdims=keepdims, select_last=select_last)
        return Spec(shape, np.dtype(np.int64))


@irdl_op_definition
class ArgMaxOp(ArgOp):
    """Place of the largest element along one axis; a NaN counts as largest.

    Args:    x: tensor[..., d_axis, ...], numbers.  axis: in [-rank, rank).  keepdims: whether it stays, of size 1.
             select_last: whether the last of equal elements is meant, not the first.
    Returns: y: x's shape without the axis, int64.
    Raises:  E0412 if axis is outside the rank, E0401 if it is empty, E0403 for bool.
    Source:  ONNX ArgMax-13; torch.argmax.
    """

    name = "nn.argmax"


@irdl_op_definition
class ArgMinOp(ArgOp):
    """Place of the smallest element along one axis; a NaN counts as smallest.

    Args:    x: tensor[..., d_axis, ...], numbers.  axis: in [-rank, rank).  keepdims: whether it stays, of size 1.
             select_last: whether the last of equal elements is meant, not the first.
    Returns: y: x's shape without the axis, int64.
    Raises:  E0412 if axis is outside the rank, E0401 if it is empty, E0403 for bool.
    Source:  ONNX ArgMin-13; torch.argmin.
    """

    name = "nn.argmin"


class ScanOp(NNOp):
    """Ops that combine the elements before each one along an axis."""

    x = operand_def(TENSOR)
    axis = prop_def(INT)
    exclusive = prop_def(BOOL)
    reverse = prop_def(BOOL)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, *, axis: int, exclusive: bool, reverse: bool) -> Spec:
        return Spec(shapes.cumsum(require_kind(x, NUMERIC).shape, axis=axis, exclusive=exclusive, reverse=reverse), x.dtype)


@irdl_op_definition
class CumsumOp(ScanOp):
    """Cumulative sum along one axis: y[i] = x[0] + ... + x[i].  Integers wrap around.

    Args:    x: tensor[..., d_axis, ...], numbers.  axis: in [-rank, rank).  exclusive: whether x[i] itself is left out.
             reverse: whether sums run from the end.
    Returns: y: shape and dtype of x.
    Raises:  E0412 if axis is outside the rank, E0403 for bool.
    Source:  ONNX CumSum-14; torch.cumsum.
    """

    name = "nn.cumsum"


@irdl_op_definition
class CumprodOp(ScanOp):
    """Cumulative product along one axis: y[i] = x[0] * ... * x[i].  Integers wrap around.

    Args:    x: tensor[..., d_axis, ...], numbers.  axis: in [-rank, rank).  exclusive: whether x[i] itself is left out.
             reverse: whether products run from the end.
    Returns: y: shape and dtype of x.
    Raises:  E0412 if axis is outside the rank, E0403 for bool.
    Source:  ONNX CumProd-26; torch.cumprod.
    """

    name = "nn.cumprod"
