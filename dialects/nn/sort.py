"""Ops of nn that order elements along a dimension."""

from __future__ import annotations

import numpy as np
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import BOOL, INT
from ttc.dialects.core.ir.spec import DYNAMIC, Spec
from ttc.dialects.core.shapes import axis_in
from ttc.dialects.nn.base import TENSOR, NNOp
from ttc.dialects.nn.elementwise import ANY, NUMERIC, require_kind
from ttc.dialects.nn.index import require_indices
from ttc.dialects.nn.shapes import sort as shapes


@irdl_op_definition
class TopkOp(NNOp):
    """The k largest (or smallest) elements along one axis, in order, and their places; of equal ones the first comes first.

    Args:    x: tensor[..., d_axis, ...], numbers.  k: in [0, d_axis].  axis: in [-rank, rank).  largest: or smallest.
    Returns: values: tensor[..., k, ...], x's dtype.  indices: of the same shape, int64.
    Raises:  E0412 if axis is outside the rank, E0402 if k does not suit it, E0403 for bool.
    Source:  ONNX TopK-11 (k constant; unsorted results are sorted too); torch.topk.
    """

    name = "nn.topk"
    x = operand_def(TENSOR)
    k = prop_def(INT)
    axis = prop_def(INT)
    largest = prop_def(BOOL)
    values = result_def(TENSOR)
    indices = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, *, k: int, axis: int, largest: bool) -> tuple[Spec, ...]:
        require_kind(x, NUMERIC)
        place = axis_in(axis, x.rank)
        if k < 0 or (x.shape[place] != DYNAMIC and k > x.shape[place]):
            raise Error("E0402", f"there are no {k} elements along axis {axis} of {x}")
        shape = (*x.shape[:place], k, *x.shape[place + 1 :])
        return Spec(shape, x.dtype), Spec(shape, np.dtype(np.int64))


@irdl_op_definition
class ReverseSequenceOp(NNOp):
    """The beginnings of sequences in reverse order; what follows stays.

    For time_axis 0 and batch_axis 1: y[t, b, ...] = x[lengths[b] - 1 - t, b, ...] where t < lengths[b], x[t, b, ...] elsewhere.

    Args:    x: tensor[...], any dtype.  lengths: tensor[d_batch_axis], int32 or int64, in [0, d_time_axis].
             time_axis, batch_axis: distinct, in [0, rank).
    Returns: y: shape and dtype of x.
    Raises:  E0412 if an axis is outside the rank, E0402 if they are the same, E0401 if lengths does not fit, E0403 for its dtype.
    Source:  ONNX ReverseSequence-10.
    """

    name = "nn.reverse_sequence"
    x = operand_def(TENSOR)
    lengths = operand_def(TENSOR)
    time_axis = prop_def(INT)
    batch_axis = prop_def(INT)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, lengths: Spec, *, time_axis: int, batch_axis: int) -> Spec:
        shape = shapes.reverse_sequence(x.shape, lengths.shape, time_axis=time_axis, batch_axis=batch_axis)
        require_indices(lengths)
        return Spec(shape, require_kind(x, ANY).dtype)
