"""Elementwise ops of one and two operands, comparisons, logic, activations, the choice between two."""

from __future__ import annotations

from functools import reduce

import numpy as np

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.complexes import Complex
from ttc.importers.common.elementwise import (
    atan2,
    binary,
    erfc,
    expm1,
    floor_div,
    floor_mod,
    log1p,
    select,
    square,
    squared_difference,
    tan,
    unary,
)
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.tf.messages import Type
from ttc.importers.tf.tables import Rows
from ttc.importers.tf.tensors import COMPLEX, dtype_of


def relu6(b: Builder, features: SSAValue) -> SSAValue:
    return b.nn("clip", features, min=0.0, max=6.0)


def leaky_relu(b: Builder, features: SSAValue, *, alpha: float = 0.2) -> SSAValue:
    return b.nn("leaky_relu", features, alpha=alpha)


def elu(b: Builder, features: SSAValue) -> SSAValue:
    return b.nn("elu", features, alpha=1.0)


def selu(b: Builder, features: SSAValue) -> SSAValue:
    scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
    return b.nn("mul", b.nn("elu", features, alpha=alpha), b.scalar(scale, features))


def softsign(b: Builder, features: SSAValue) -> SSAValue:
    return b.nn("div", features, b.nn("add", b.nn("abs", features), b.scalar(1, features)))


def real_div(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return x / y; integers are divided as float64."""
    if b.dtype(x).kind in "iu":
        x, y = (b.cast(v, np.dtype(np.float64)) for v in (x, y))
    return b.nn("div", x, y)


def div_no_nan(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return x / y, and 0 where y is 0."""
    zero = b.nn("equal", y, b.scalar(0, y))
    safe = b.nn("where", zero, b.scalar(1, y), y)
    return b.nn("where", zero, b.scalar(0, y), b.nn("div", x, safe))


def mul_no_nan(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return x y, and 0 where y is 0, whatever x is."""
    zero = b.nn("equal", y, b.scalar(0, y))
    return b.nn("where", zero, b.scalar(0, y), b.nn("mul", x, y))


def truncate_mod(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return the remainder that has the sign of x."""
    return b.nn("mod", x, y, fmod=True)


def xlogy(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return x log y, and 0 where x is 0."""
    zero = b.nn("equal", x, b.scalar(0, x))
    return b.nn("where", zero, b.scalar(0, x), b.nn("mul", x, b.nn("log", b.nn("where", zero, b.scalar(1, y), y))))


def equal(b: Builder, x: SSAValue, y: SSAValue, *, incompatible_shape_error: bool = True) -> SSAValue:
    return b.nn("equal", x, y)


def not_equal(b: Builder, x: SSAValue, y: SSAValue, *, incompatible_shape_error: bool = True) -> SSAValue:
    return b.nn("not_equal", x, y)


def approximately_equal(b: Builder, x: SSAValue, y: SSAValue, *, tolerance: float = 1e-5) -> SSAValue:
    return b.nn("less", b.nn("abs", b.nn("sub", x, y)), b.scalar(tolerance, x))


def select_v2(b: Builder, condition: SSAValue, t: SSAValue, e: SSAValue) -> SSAValue:
    """Choose between two tensors; all three operands broadcast as numpy does."""
    return b.nn("where", condition, t, e)


def add_n(b: Builder, *inputs: SSAValue) -> SSAValue:
    return reduce(lambda x, y: b.nn("add", x, y), inputs)


def clip_by_value(b: Builder, t: SSAValue, clip_value_min: SSAValue, clip_value_max: SSAValue) -> SSAValue:
    low, high = (b.known(v) for v in (clip_value_min, clip_value_max))
    if b.dtype(t).kind in "fV" and low is not None and high is not None and low.size == high.size == 1:
        return b.nn("clip", t, min=float(low.ravel()[0]), max=float(high.ravel()[0]))
    return b.nn("minimum", b.nn("maximum", t, clip_value_min), clip_value_max)


def cast(b: Builder, x: SSAValue, *, DstT: Type, Truncate: bool = False) -> SSAValue | Complex:  # noqa: N803 - the attribute's name
    if Truncate:
        raise Unsupported("Truncate")
    if DstT not in COMPLEX:
        return b.cast(x, dtype_of(DstT, "the result"))
    part = b.cast(x, COMPLEX[DstT][0])
    zero = b.scalar(0, part)
    return Complex(part, b.nn("expand", zero, shape=b.shape(part)) if b.rank(part) else zero)


def bitcast(b: Builder, input: SSAValue, *, type: np.dtype) -> SSAValue:
    """Return the same bits as numbers of another type of the same size."""
    if type.itemsize != b.dtype(input).itemsize:
        raise Unsupported(f"the bits of {b.dtype(input)} as {type}")
    return input if type == b.dtype(input) else b.nn("bitcast", input, source=b.dtype(input), dtype=type)


def invert(b: Builder, x: SSAValue) -> SSAValue:
    """Return the integers with all bits flipped."""
    return b.nn("bitwise_xor", x, b.constant(np.array(-1).astype(b.dtype(x))))


def xlog1py(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return x log(1 + y), and 0 where x is 0."""
    zero = b.nn("equal", x, b.scalar(0, x))
    return b.nn("where", zero, b.scalar(0, x), b.nn("mul", x, log1p(b, b.nn("where", zero, b.scalar(0, y), y))))


def xdivy(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return x / y, and 0 where x is 0."""
    zero = b.nn("equal", x, b.scalar(0, x))
    return b.nn("where", zero, b.scalar(0, x), b.nn("div", x, b.nn("where", zero, b.scalar(1, y), y)))


def is_finite(b: Builder, x: SSAValue) -> SSAValue:
    return b.nn("not", b.nn("or", b.nn("is_inf", x), b.nn("is_nan", x)))


def rint(b: Builder, x: SSAValue) -> SSAValue:
    """Round to the nearest, of two the even one, as TensorFlow's Round does, too. Integers are whole already."""
    return x if b.dtype(x).kind in "iu" else b.nn("round", x)


_UNARY = {
    **{"Abs": "abs", "Neg": "neg", "Sign": "sign", "Exp": "exp", "Log": "log", "Sqrt": "sqrt", "Rsqrt": "rsqrt", "Floor": "floor"},
    **{"Ceil": "ceil", "Sin": "sin", "Cos": "cos", "Asin": "asin", "Acos": "acos", "Atan": "atan", "Sinh": "sinh", "Cosh": "cosh"},
    **{"Asinh": "asinh", "Acosh": "acosh", "Atanh": "atanh", "Erf": "erf", "Tanh": "tanh", "Sigmoid": "sigmoid", "Relu": "relu"},
    **{"Softplus": "softplus", "LogicalNot": "not", "IsNan": "is_nan", "IsInf": "is_inf", "Reciprocal": "reciprocal", "Inv": "reciprocal"},
}
_BINARY = {
    **{"Add": "add", "AddV2": "add", "Sub": "sub", "Mul": "mul", "Maximum": "maximum", "Minimum": "minimum", "Pow": "pow"},
    **{"Less": "less", "LessEqual": "less_equal", "Greater": "greater", "GreaterEqual": "greater_equal", "LogicalAnd": "and"},
    **{"LogicalOr": "or", "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor", "TruncateDiv": "div"},
    **{"LeftShift": "shift_left", "RightShift": "shift_right"},
}
ROWS: Rows = {
    **{name: unary(op) for name, op in _UNARY.items()},
    **{name: binary(op) for name, op in _BINARY.items()},
    "Square": square,
    "SquaredDifference": squared_difference,
    "Tan": tan,
    "Log1p": log1p,
    "Expm1": expm1,
    "Erfc": erfc,
    "Relu6": relu6,
    "LeakyRelu": leaky_relu,
    "Elu": elu,
    "Selu": selu,
    "Softsign": softsign,
    "RealDiv": real_div,
    "Div": binary("div"),
    "DivNoNan": div_no_nan,
    "MulNoNan": mul_no_nan,
    "FloorDiv": floor_div,
    "FloorMod": floor_mod,
    "TruncateMod": truncate_mod,
    "Mod": truncate_mod,
    "Atan2": atan2,
    "Xlogy": xlogy,
    "Xlog1py": xlog1py,
    "Xdivy": xdivy,
    "Bitcast": bitcast,
    "Invert": invert,
    "Equal": equal,
    "NotEqual": not_equal,
    "ApproximateEqual": approximately_equal,
    "Select": select,
    "SelectV2": select_v2,
    "AddN": add_n,
    "ClipByValue": clip_by_value,
    "Cast": cast,
    "IsFinite": is_finite,
    "Rint": rint,
    "Round": rint,
}
