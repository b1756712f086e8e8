"""Ops that pick elements by computed indices.  A negative index counts from the end; one out of range is E0802 when the op runs."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import INT
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.nn.base import TENSOR, NNOp
from ttc.dialects.nn.shapes import index as shapes


class GatherBase(NNOp):
    """y = elements of x chosen by indices; the op's attributes say along which dimensions."""

    x = operand_def(TENSOR)
    indices = operand_def(TENSOR)
    y = result_def(TENSOR)


def require_indices(indices: Spec) -> Spec:
    """Raises E0403 unless the tensor is of int32 or int64."""
    if str(indices.dtype) not in ("int32", "int64"):
        raise Error("E0403", f"indices are int32 or int64, not {indices.dtype}")
    return indices


@irdl_op_definition
class GatherOp(GatherBase):
    """Slices of x along one axis: y[a.., i.., b..] = x[a.., indices[i..], b..].

    Args:    x: tensor[a.., d_axis, b..], any dtype.  indices: tensor[i..], int32 or int64, in [-d_axis, d_axis).
             axis: in [-rank, rank) of x.
    Returns: y: tensor[a.., i.., b..], x's dtype.
    Raises:  E0412 if axis is outside the rank, E0403 if indices are not int32 or int64.
    Source:  ONNX Gather-13; torch.index_select, torch.nn.functional.embedding.
    """

    name = "nn.gather"
    STRINGS: ClassVar[bool] = True
    axis = prop_def(INT)

    @classmethod
    def infer(cls, x: Spec, indices: Spec, *, axis: int) -> Spec:
        shape = shapes.gather(x.shape, indices.shape, axis=axis)
        require_indices(indices)
        return Spec(shape, x.dtype)


@irdl_op_definition
class GatherElementsOp(GatherBase):
    """Elements of x, one for each place of indices: for axis 1 of rank 3, y[i, j, k] = x[i, indices[i, j, k], k].

    Args:    x: tensor[...], any dtype.  indices: tensor of x's rank, int32 or int64, in [-d_axis, d_axis); in dimensions other than the
             axis not larger than x.  axis: in [-rank, rank).
    Returns: y: shape of indices, x's dtype.
    Raises:  E0412 if axis is outside the rank, E0401 if indices do not suit x, E0403 if they are not int32 or int64.
    Source:  ONNX GatherElements-13; torch.gather.
    """

    name = "nn.gather_elements"
    STRINGS: ClassVar[bool] = True
    axis = prop_def(INT)

    @classmethod
    def infer(cls, x: Spec, indices: Spec, *, axis: int) -> Spec:
        shape = shapes.gather_elements(x.shape, indices.shape, axis=axis)
        require_indices(indices)
        return Spec(shape, x.dtype)


@irdl_op_definition
class GatherNdOp(GatherBase):
    """Slices of x at index tuples: y[n.., i..] = x[n.., indices[n.., i.., 0], ..., indices[n.., i.., k - 1]].

    Args:    x: tensor[n.., d.., r..], any dtype, k dimensions d.  indices: tensor[n.., i.., k], int32 or int64, entry j in [-d_j, d_j).
             batch_dims: number of dimensions n, which x and indices share.
    Returns: y: tensor[n.., i.., r..], x's dtype.
    Raises:  E0401 if shapes do not suit each other or k is dynamic or 0, E0402 if batch_dims is negative or too large,
             E0403 if indices are not int32 or int64.
    Source:  ONNX GatherND-13.
    """

    name = "nn.gather_nd"
    STRINGS: ClassVar[bool] = True
    batch_dims = prop_def(INT)

    @classmethod
    def infer(cls, x: Spec, indices: Spec, *, batch_dims: int) -> Spec:
        shape = shapes.gather_nd(x.shape, indices.shape, batch_dims=batch_dims)
        require_indices(indices)
        return Spec(shape, x.dtype)
