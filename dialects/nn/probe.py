"""Values that a model's author wants to see while it runs."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from ttc.dialects.core.ir.attributes import STR
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.nn.base import TENSOR, NNOp


@irdl_op_definition
class ProbeOp(NNOp):
    """The operand itself, whose value is shown under a label: y = x.  It has an effect: it stays where nothing reads its result.

    The gradient of a probe is a probe of the gradient, whose label ends in `_gradient`.  The pass `expose-probes` makes an output of it.

    Args:    x: tensor[...], any dtype.
             label: name that the value is shown under.
    Returns: y: shape and dtype of x.
    Source:  ttc.probe.
    """

    name = "nn.probe"
    EFFECT: ClassVar[bool] = True
    x = operand_def(TENSOR)
    label = prop_def(STR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, *, label: str) -> Spec:
        return x
