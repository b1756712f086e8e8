"""Activation functions as code for vectors."""

from __future__ import annotations

from math import ceil, floor, isfinite
from typing import TYPE_CHECKING

import numpy as np

from ttc.runtime.engines.native.ir.elementwise import FLOAT32, FLOATS, NUMBERS, elementwise, numpy_type

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer


@elementwise("tanh", FLOAT32)
def tanh(f: Writer, x: Value) -> Value:
    """Return the hyperbolic tangent tanh x, elementwise."""
    return f.tanh(x)


@elementwise("sigmoid", FLOAT32)
def sigmoid(f: Writer, x: Value) -> Value:
    """1 / (1 + exp(-x))."""
    return f.sigmoid(x)


@elementwise("relu", NUMBERS)
def relu(f: Writer, x: Value) -> Value:
    """Return max(x, 0), elementwise; NaN stays."""
    return f.larger(0, x)  # NaN, which is not smaller, stays


@elementwise("silu", FLOAT32)
def silu(f: Writer, x: Value) -> Value:
    """Return x * sigmoid(x), elementwise."""
    return x / (f.exp(-x) + 1.0)


@elementwise("softplus", FLOAT32)
def softplus(f: Writer, x: Value) -> Value:
    """Return ln(1 + exp x), elementwise."""
    return f.larger(0.0, x) + f.log1p(f.exp(-f.unary("fabs", x)))


@elementwise("hard_swish", FLOATS)
def hard_swish(f: Writer, x: Value) -> Value:
    """x * min(max(x + 3, 0), 6) / 6."""
    return x * _between(f, x + 3.0, 0.0, 6.0) * (1 / 6)


@elementwise("leaky_relu", FLOATS)
def leaky_relu(f: Writer, x: Value, *, alpha: float) -> Value:
    """x where x >= 0, alpha * x elsewhere."""
    return f.select(x >= 0.0, x, x * float(alpha))


@elementwise("elu", FLOAT32)
def elu(f: Writer, x: Value, *, alpha: float) -> Value:
    """x where x > 0, alpha * (exp x - 1) elsewhere."""
    return f.select(x > 0.0, x, f.expm1(x) * float(alpha))


@elementwise("hard_sigmoid", FLOATS)
def hard_sigmoid(f: Writer, x: Value, *, alpha: float, beta: float) -> Value:
    """min(max(alpha * x + beta, 0), 1)."""
    return _between(f, x * float(alpha) + float(beta), 0.0, 1.0)


@elementwise("clip", NUMBERS)
def clip(f: Writer, x: Value, *, min: float | None = None, max: float | None = None) -> Value:
    """Return min(max(x, min), max), elementwise."""
    if not x.type.is_float:
        info = np.iinfo(numpy_type(x.type.dtype))
        min = None if min is None else _within(ceil(min) if isfinite(min) else min, info)
        max = None if max is None else _within(floor(max) if isfinite(max) else max, info)
    low = x if min is None else f.larger(min, x)
    return low if max is None else f.smaller(max, low)


@elementwise("erf", FLOAT32)
def erf(f: Writer, x: Value) -> Value:
    """2 / sqrt(pi) * integral of exp(-t^2) from 0 to x."""
    from ttc.runtime.engines.native.ir.error_function import erf

    return erf(f, x)


@elementwise("gelu", FLOAT32)
def gelu(f: Writer, x: Value, *, approximate: str = "none") -> Value:
    """x * Phi(x), Phi by erf or by tanh."""
    from ttc.runtime.engines.native.ir.error_function import gelu, gelu_tanh

    return gelu(f, x) if approximate == "none" else gelu_tanh(f, x)


@elementwise("gelu_tanh", FLOAT32)
def gelu_tanh(f: Writer, x: Value) -> Value:
    """x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2."""
    from ttc.runtime.engines.native.ir.error_function import gelu_tanh

    return gelu_tanh(f, x)


def _between(f: Writer, x: Value, low: float, high: float) -> Value:
    """x brought into a range; NaN stays."""
    return f.smaller(high, f.larger(low, x))


def _within(limit: float, info: np.iinfo) -> int:
    """Return the limit brought into an integer dtype's range."""
    return int(info.min) if limit <= info.min else int(info.max) if limit >= info.max else int(limit)
