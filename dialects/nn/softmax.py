"""Softmax and its logarithm as ops of nn."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from ttc.dialects.core.ir.attributes import INT
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.core.shapes import axis_in
from ttc.dialects.nn.base import TENSOR, NNOp, require_float


class _SoftmaxOp(NNOp):
    """What both have: one operand, one axis, a result like the operand."""

    x = operand_def(TENSOR)
    axis = prop_def(INT)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, *, axis: int) -> Spec:
        axis_in(axis, x.rank)
        return require_float(x)


@irdl_op_definition
class SoftmaxOp(_SoftmaxOp):
    """Softmax along one axis: y[i] = exp(x[i] - max x) / sum exp(x - max x).

    Args:    x: tensor[..., d_axis, ...], floating point.  axis: in [-rank, rank).
    Returns: y: shape and dtype of x; NaN where all of x is -inf.
    Raises:  E0403 for integers, E0412 if axis is outside the rank.
    Source:  ONNX Softmax-13 (older opsets flatten: the importer reshapes); torch.softmax.
    """

    name = "nn.softmax"


@irdl_op_definition
class LogSoftmaxOp(_SoftmaxOp):
    """Logarithm of softmax along one axis: y[i] = x[i] - max x - log sum exp(x - max x).

    Args:    x: tensor[..., d_axis, ...], floating point.  axis: in [-rank, rank).
    Returns: y: shape and dtype of x; NaN where all of x is -inf.
    Raises:  E0403 for integers, E0412 if axis is outside the rank.
    Source:  ONNX LogSoftmax-13 (older opsets flatten: the importer reshapes); torch.log_softmax.
    """

    name = "nn.log_softmax"
