"""Ops that write elements at computed places.  A negative index counts from the end; one out of range is E0802 when the op runs."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import INT, STR
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.nn.base import TENSOR, NNOp, same_dtype
from ttc.dialects.nn.index import require_indices
from ttc.dialects.nn.shapes import scatter as shapes


class ScatterBase(NNOp):
    """y = x with updates written at places that indices and attributes say.  reduction: what happens with the element there."""

    x = operand_def(TENSOR)
    indices = operand_def(TENSOR)
    updates = operand_def(TENSOR)
    reduction = prop_def(STR)
    y = result_def(TENSOR)


@irdl_op_definition
class ScatterElementsOp(ScatterBase):
    """x with elements replaced: for axis 1 of rank 3, y[i, indices[i, j, k], k] = updates[i, j, k].

    Args:    x: tensor[...], any dtype.  indices: tensor of x's rank, int32 or int64, in [-d_axis, d_axis); in dimensions other than the
             axis not larger than x.  updates: tensor of indices' shape, x's dtype.  axis: in [-rank, rank).
             reduction: none (of equal places the last counts), or add, mul, max, min: combine with the element there.
    Returns: y: shape and dtype of x.
    Raises:  E0412 if axis is outside the rank, E0401 if shapes do not suit, E0402 for another reduction, E0403 for differing dtypes.
    Source:  ONNX ScatterElements-18; torch.scatter, torch.scatter_reduce.
    """

    name = "nn.scatter_elements"
    axis = prop_def(INT)

    @classmethod
    def infer(cls, x: Spec, indices: Spec, updates: Spec, *, axis: int, reduction: str) -> Spec:
        _require_operands(x, indices, updates, reduction)
        return Spec(shapes.scatter_elements(x.shape, indices.shape, updates.shape, axis=axis, reduction=reduction), x.dtype)


@irdl_op_definition
class ScatterNdOp(ScatterBase):
    """x with slices replaced at index tuples: y[indices[i.., 0], ..., indices[i.., k - 1]] = updates[i..].

    Args:    x: tensor[d.., r..], any dtype, k dimensions d.  indices: tensor[i.., k], int32 or int64, entry j in [-d_j, d_j).
             updates: tensor[i.., r..], x's dtype.
             reduction: none (of equal places the last counts), or add, mul, max, min: combine with the element there.
    Returns: y: shape and dtype of x.
    Raises:  E0401 if shapes do not suit each other or k is dynamic or 0, E0402 for another reduction, E0403 for differing dtypes.
    Source:  ONNX ScatterND-18; torch.Tensor.index_put.
    """

    name = "nn.scatter_nd"

    @classmethod
    def infer(cls, x: Spec, indices: Spec, updates: Spec, *, reduction: str) -> Spec:
        _require_operands(x, indices, updates, reduction)
        return Spec(shapes.scatter_nd(x.shape, indices.shape, updates.shape, reduction=reduction), x.dtype)


def _require_operands(x: Spec, indices: Spec, updates: Spec, reduction: str) -> None:
    """Check the dtypes of a scatter.  Raises E0403."""
    same_dtype(x, updates)
    require_indices(indices)
    if reduction != "none" and x.dtype.kind == "b":
        raise Error("E0403", f"reduction {reduction} does not take {x.dtype}")
