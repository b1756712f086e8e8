"""Activation functions: elementwise ops of one operand that follow a matmul or a convolution."""

from __future__ import annotations

from math import isnan
from typing import ClassVar

from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import FLOAT, STR
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.nn.base import require_float
from ttc.dialects.nn.elementwise import NUMERIC, UnaryOp, require_kind


@irdl_op_definition
class TanhOp(UnaryOp):
    """Hyperbolic tangent: y = tanh x.

    Args:    x: tensor[...], floating point.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX Tanh-13; torch.tanh.
    """

    name = "nn.tanh"


@irdl_op_definition
class SigmoidOp(UnaryOp):
    """Logistic function: y = 1 / (1 + exp(-x)).

    Args:    x: tensor[...], floating point.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX Sigmoid-13; torch.sigmoid.
    """

    name = "nn.sigmoid"


@irdl_op_definition
class ReluOp(UnaryOp):
    """Rectifier: y = max(x, 0).

    Args:    x: tensor[...], numbers.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX Relu-14; torch.relu.
    """

    name = "nn.relu"
    KINDS: ClassVar[str] = NUMERIC


@irdl_op_definition
class SiluOp(UnaryOp):
    """Sigmoid-weighted x: y = x * sigmoid(x).

    Args:    x: tensor[...], floating point.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  torch.nn.functional.silu; ONNX Swish-24 with alpha 1.
    """

    name = "nn.silu"


@irdl_op_definition
class SoftplusOp(UnaryOp):
    """Smooth rectifier: y = ln(1 + exp x), without overflow.

    Args:    x: tensor[...], floating point.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX Softplus-1; torch.nn.functional.softplus.
    """

    name = "nn.softplus"


@irdl_op_definition
class HardSwishOp(UnaryOp):
    """Piecewise silu: y = x * min(max(x + 3, 0), 6) / 6.

    Args:    x: tensor[...], floating point.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX HardSwish-14; torch.nn.functional.hardswish.
    """

    name = "nn.hard_swish"


@irdl_op_definition
class GeluOp(UnaryOp):
    """Gaussian error linear unit: y = x * Phi(x), Phi the normal distribution.

    `none`: Phi(x) = (1 + erf(x / sqrt 2)) / 2;  `tanh`: Phi(x) = (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2.

    Args:    x: tensor[...], floating point.  approximate: none or tanh.
    Returns: y: shape and dtype of x.
    Raises:  E0402 for another approximation, E0403 for another dtype.
    Source:  ONNX Gelu-20; torch.nn.functional.gelu.
    """

    name = "nn.gelu"
    approximate = prop_def(STR)

    @classmethod
    def infer(cls, x: Spec, *, approximate: str) -> Spec:
        if approximate not in ("none", "tanh"):
            raise Error("E0402", f"approximate is none or tanh, not '{approximate}'")
        return require_float(x)


@irdl_op_definition
class GeluTanhOp(UnaryOp):
    """nn.gelu in its tanh form, by a name of its own: as matmuls and convolutions name it as their activation.

    y = x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2.

    Args:    x: tensor[...], floating point.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  torch.nn.functional.gelu (approximate="tanh").
    """

    name = "nn.gelu_tanh"


@irdl_op_definition
class LeakyReluOp(UnaryOp):
    """Leaky rectifier: y = x where x >= 0, alpha * x elsewhere.

    Args:    x: tensor[...], floating point.  alpha: slope below 0.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX LeakyRelu-16; torch.nn.functional.leaky_relu.
    """

    name = "nn.leaky_relu"
    alpha = prop_def(FLOAT)


@irdl_op_definition
class EluOp(UnaryOp):
    """Exponential linear unit: y = x where x > 0, alpha * (exp x - 1) elsewhere.

    Args:    x: tensor[...], floating point.  alpha: minus the limit at -inf.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX Elu-6; torch.nn.functional.elu.
    """

    name = "nn.elu"
    alpha = prop_def(FLOAT)


@irdl_op_definition
class HardSigmoidOp(UnaryOp):
    """Piecewise sigmoid: y = min(max(alpha * x + beta, 0), 1).

    Args:    x: tensor[...], floating point.  alpha: slope.  beta: value at 0.
    Returns: y: shape and dtype of x.
    Raises:  E0403 for another dtype.
    Source:  ONNX HardSigmoid-6 (0.2, 0.5); torch.nn.functional.hardsigmoid (1/6, 0.5).
    """

    name = "nn.hard_sigmoid"
    alpha = prop_def(FLOAT)
    beta = prop_def(FLOAT)


@irdl_op_definition
class ClipOp(UnaryOp):
    """Limits: y = min(max(x, min), max); max where min is above max; NaN stays NaN.

    Args:    x: tensor[...], numbers.  min, max: limits; absent: none.
    Returns: y: shape and dtype of x; limits of integers are rounded inward and brought into their dtype's range.
    Raises:  E0402 if a limit is NaN, E0403 for bool.
    Source:  ONNX Clip-13 (limits that are computed: the importer uses minimum and maximum); torch.clamp.
    """

    name = "nn.clip"
    min = opt_prop_def(FLOAT)
    max = opt_prop_def(FLOAT)

    @classmethod
    def infer(cls, x: Spec, *, min: float | None = None, max: float | None = None) -> Spec:
        if any(limit is not None and isnan(limit) for limit in (min, max)):
            raise Error("E0402", "a limit is NaN")
        return require_kind(x, NUMERIC)
