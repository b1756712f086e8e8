"""Steps between real numbers and the integers that stand for them.  Elementwise: scales of axes and blocks are operands that broadcast."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, result_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.core.shapes import broadcast_shapes
from ttc.dialects.nn.base import TENSOR, require_float, same_dtype
from ttc.dialects.nn.elementwise import ElementwiseOp, require_kind

CODES = ("int8", "uint8", "int16", "uint16", "int32")
"""Types of the integers that quantized numbers are kept in."""


@irdl_op_definition
class QuantizeOp(ElementwiseOp):
    """The integers that stand for real numbers: y = x / scale rounded, halves to even, plus zero, brought into zero's range.

    Args:    x: tensor[...], floating point.  scale: tensor[...], floating point.  zero: tensor[...], int8, uint8, int16, uint16 or int32:
             the integer that stands for 0.  They broadcast as numpy does.
    Returns: y: the broadcast shape, zero's dtype; NaN gives zero's least distance from 0.
    Raises:  E0401 if the shapes do not broadcast, E0403 for other dtypes.
    Source:  ONNX QuantizeLinear-21 (axes and blocks: the importer shapes the scale); torch.quantize_per_tensor.
    """

    name = "nn.quantize"
    x = operand_def(TENSOR)
    scale = operand_def(TENSOR)
    zero = operand_def(TENSOR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, scale: Spec, zero: Spec) -> Spec:
        same_dtype(require_float(x), scale)
        _require_codes(zero)
        return Spec(broadcast_shapes(x.shape, scale.shape, zero.shape), zero.dtype)


@irdl_op_definition
class DequantizeOp(ElementwiseOp):
    """The real numbers that integers stand for: y = (x - zero) * scale.

    Args:    x: tensor[...], int8, uint8, int16, uint16 or int32.  scale: tensor[...], floating point.  zero: tensor[...] of x's dtype.
             They broadcast as numpy does.
    Returns: y: the broadcast shape, scale's dtype.
    Raises:  E0401 if the shapes do not broadcast, E0403 for other or differing dtypes.
    Source:  ONNX DequantizeLinear-21 (axes and blocks: the importer shapes the scale); torch.dequantize.
    """

    name = "nn.dequantize"
    x = operand_def(TENSOR)
    scale = operand_def(TENSOR)
    zero = operand_def(TENSOR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, scale: Spec, zero: Spec) -> Spec:
        same_dtype(_require_codes(x), zero)
        return Spec(broadcast_shapes(x.shape, scale.shape, zero.shape), require_kind(scale, "fV").dtype)


def _require_codes(x: Spec) -> Spec:
    """Raises E0403 unless the tensor is of integers that quantization uses."""
    if str(x.dtype) not in CODES:
        raise Error("E0403", f"{x.dtype} is not one of {', '.join(CODES)}")
    return x
