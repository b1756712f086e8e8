"""Values that are constants to whoever differentiates."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, result_def

from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.nn.base import TENSOR, NNOp


@irdl_op_definition
class StopGradientOp(NNOp):
    """Give the operand itself, through which no gradient passes: y = x, and x gets no cotangent.

    The pass `drop-stop-gradients` drops it once gradients are made: no other pass does.

    Args:    x: tensor[...], any dtype.
    Returns: y: shape and dtype of x.
    Source:  torch.Tensor.detach, torch.no_grad; tf.stop_gradient.
    """

    name = "nn.stop_gradient"
    x = operand_def(TENSOR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec) -> Spec:
        return x
