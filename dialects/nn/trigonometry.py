"""Hyperbolic functions, and the inverses of circular and hyperbolic ones.  Sine and cosine are in `unary.py`, tanh in `activation.py`."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition

from ttc.dialects.nn.elementwise import UnaryOp


@irdl_op_definition
class SinhOp(UnaryOp):
    """Hyperbolic sine: y = (exp x - exp -x) / 2.

    Args:    x: tensor[...], floating point.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX Sinh-9; torch.sinh.
    """

    name = "nn.sinh"


@irdl_op_definition
class CoshOp(UnaryOp):
    """Hyperbolic cosine: y = (exp x + exp -x) / 2.

    Args:    x: tensor[...], floating point.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX Cosh-9; torch.cosh.
    """

    name = "nn.cosh"


@irdl_op_definition
class AsinOp(UnaryOp):
    """Arc sine: the angle y in [-pi/2, pi/2] with sin y = x; NaN outside [-1, 1].

    Args:    x: tensor[...], floating point.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX Asin-7; torch.asin.
    """

    name = "nn.asin"


@irdl_op_definition
class AcosOp(UnaryOp):
    """Arc cosine: the angle y in [0, pi] with cos y = x; NaN outside [-1, 1].

    Args:    x: tensor[...], floating point.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX Acos-7; torch.acos.
    """

    name = "nn.acos"


@irdl_op_definition
class AtanOp(UnaryOp):
    """Arc tangent: the angle y in [-pi/2, pi/2] with tan y = x.

    Args:    x: tensor[...], floating point.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX Atan-7; torch.atan.
    """

    name = "nn.atan"


@irdl_op_definition
class AsinhOp(UnaryOp):
    """Inverse hyperbolic sine: sinh y = x.

    Args:    x: tensor[...], floating point.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX Asinh-9; torch.asinh.
    """

    name = "nn.asinh"


@irdl_op_definition
class AcoshOp(UnaryOp):
    """Inverse hyperbolic cosine: y >= 0 with cosh y = x; NaN below 1.

    Args:    x: tensor[...], floating point.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX Acosh-9; torch.acosh.
    """

    name = "nn.acosh"


@irdl_op_definition
class AtanhOp(UnaryOp):
    """Inverse hyperbolic tangent: tanh y = x; infinite at -1 and 1, NaN beyond.

    Args:    x: tensor[...], floating point.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX Atanh-9; torch.atanh.
    """

    name = "nn.atanh"
