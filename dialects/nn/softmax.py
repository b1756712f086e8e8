"""Softmax and its logarithm."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, prop_def, result_def, operand_def, traits_def
from xdsl.traits import Pure

from ttc.dialects.core.ir import INT, Spec
from ttc.dialects.nn.base import TENSOR, NNOp, axis_in, require_float


@irdl_op_definition
class SoftmaxOp(NNOp):
    """Softmax along one axis: y[i] = exp(x[i] - max x) / sum exp(x - max x).

    Args:    x: tensor[..., d_axis, ...], floating point.  axis: in [-rank, rank).
    Returns: y: shape and dtype of x.
    Raises:  E0412 if axis is outside the rank.
    Source:  ONNX Softmax-13 (older opsets flatten: the importer reshapes); torch.softmax.
    """

    name = "nn.softmax"
    x = operand_def(TENSOR)
    axis = prop_def(INT)
    y = result_def(TENSOR)
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, x: Spec, *, axis: int) -> Spec:
        axis_in(axis, x.rank)
        return require_float(x)
