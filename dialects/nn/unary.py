"""Elementwise ops of one operand: arithmetic, rounding, predicates, casts.  Activation functions are in `activation.py`."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.irdl import irdl_op_definition, prop_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import DTYPE
from ttc.dialects.core.ir.spec import Spec, element_type
from ttc.dialects.nn.elementwise import NUMERIC, SIGNED, WITH_TEXT, PredicateOp, UnaryOp


@irdl_op_definition
class AbsOp(UnaryOp):
    """Magnitude: y = |x|.  The least integer stays itself.

    Args:    x: tensor[...], numbers.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX Abs-13; torch.abs.
    """

    name = "nn.abs"
    KINDS: ClassVar[str] = NUMERIC


@irdl_op_definition
class NegOp(UnaryOp):
    """Elementwise negation: y = -x.

    Args:    x: tensor[...], signed numbers.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX Neg-13; torch.neg.
    """

    name = "nn.neg"
    KINDS: ClassVar[str] = SIGNED


@irdl_op_definition
class SignOp(UnaryOp):
    """Sign: y = -1, 0 or 1; NaN stays NaN.

    Args:    x: tensor[...], numbers.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX Sign-13; torch.sign.
    """

    name = "nn.sign"
    KINDS: ClassVar[str] = NUMERIC


@irdl_op_definition
class ExpOp(UnaryOp):
    """Elementwise exponential function: y = e^x.

    Args:    x: tensor[...], floating point.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX Exp-13; torch.exp.
    """

    name = "nn.exp"


@irdl_op_definition
class LogOp(UnaryOp):
    """Natural logarithm: y = ln x; -inf at 0, NaN below.

    Args:    x: tensor[...], floating point.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX Log-13; torch.log.
    """

    name = "nn.log"


@irdl_op_definition
class SqrtOp(UnaryOp):
    """Square root: y = x^(1/2); NaN below 0.

    Args:    x: tensor[...], floating point.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX Sqrt-13; torch.sqrt.
    """

    name = "nn.sqrt"


@irdl_op_definition
class RsqrtOp(UnaryOp):
    """Reciprocal square root: y = x^(-1/2); inf at 0, NaN below.

    Args:    x: tensor[...], floating point.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  torch.rsqrt; ONNX Reciprocal of Sqrt.
    """

    name = "nn.rsqrt"


@irdl_op_definition
class ReciprocalOp(UnaryOp):
    """Reciprocal: y = 1 / x.

    Args:    x: tensor[...], floating point.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX Reciprocal-13; torch.reciprocal.
    """

    name = "nn.reciprocal"


@irdl_op_definition
class FloorOp(UnaryOp):
    """The largest whole number not above x.

    Args:    x: tensor[...], floating point.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX Floor-13; torch.floor.
    """

    name = "nn.floor"


@irdl_op_definition
class CeilOp(UnaryOp):
    """The smallest whole number not below x.

    Args:    x: tensor[...], floating point.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX Ceil-13; torch.ceil.
    """

    name = "nn.ceil"


@irdl_op_definition
class RoundOp(UnaryOp):
    """The nearest whole number; halves go to the even one.

    Args:    x: tensor[...], floating point.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX Round-11; torch.round.
    """

    name = "nn.round"


@irdl_op_definition
class SinOp(UnaryOp):
    """Sine: y = sin x, x in radians.

    Args:    x: tensor[...], floating point.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX Sin-7; torch.sin.
    """

    name = "nn.sin"


@irdl_op_definition
class CosOp(UnaryOp):
    """Cosine: y = cos x, x in radians.

    Args:    x: tensor[...], floating point.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX Cos-7; torch.cos.
    """

    name = "nn.cos"


@irdl_op_definition
class ErfOp(UnaryOp):
    """Error function: y = 2 / sqrt(pi) * integral of exp(-t^2) from 0 to x.

    Args:    x: tensor[...], floating point.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX Erf-13; torch.erf.
    """

    name = "nn.erf"


@irdl_op_definition
class NotOp(UnaryOp):
    """Negation of truth: y = not x.

    Args:    x: tensor[...], bool.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX Not-1; torch.logical_not.
    """

    name = "nn.not"
    KINDS: ClassVar[str] = "b"


@irdl_op_definition
class IdentityOp(UnaryOp):
    """The operand itself: y = x.

    Args:    x: tensor[...], any dtype.
    Returns: y: shape and dtype of x.
    Source:  ONNX Identity-1; torch.clone, dropout at inference.
    """

    name = "nn.identity"
    STRINGS: ClassVar[bool] = True
    KINDS: ClassVar[str] = WITH_TEXT


@irdl_op_definition
class IsNanOp(PredicateOp):
    """Whether x is not a number.

    Args:    x: tensor[...], floating point.
    Returns: y: bool, shape of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX IsNaN-13; torch.isnan.
    """

    name = "nn.is_nan"


@irdl_op_definition
class IsInfOp(PredicateOp):
    """Whether x is infinite, of either sign.

    Args:    x: tensor[...], floating point.
    Returns: y: bool, shape of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX IsInf-10 (one sign alone: the importer compares); torch.isinf.
    """

    name = "nn.is_inf"


@irdl_op_definition
class CastOp(UnaryOp):
    """Conversion: y = x as another dtype; to integers toward zero, to bool whether x is not 0; numbers as text, and text as numbers.

    Args:    x: tensor[...], any dtype or text.  dtype: of the result, or that of text.
    Returns: y: shape of x; a float beyond the range of an integer dtype comes round as an integer does where 32 bits hold it (64
             for wider dtypes and uint32); beyond that its value is not specified.  As text a float has the
             fewest digits that tell it from others, or reads NaN, INF or -INF; text that is no number is E0802 when the op runs.
    Raises:  E0403 if tensors of the dtype do not exist.
    Source:  ONNX Cast-13; torch.Tensor.to.
    """

    name = "nn.cast"
    STRINGS: ClassVar[bool] = True
    dtype = prop_def(DTYPE)

    @classmethod
    def infer(cls, x: Spec, *, dtype: np.dtype) -> Spec:
        if not isinstance(dtype, np.dtype):  # an element type that numpy lacks, such as i7
            raise Error("E0403", f"tensors of {dtype} are not supported")
        element_type(dtype)
        return Spec(x.shape, dtype)
