"""Elementwise functions of one operand, comparisons, logic, choices and limits."""

from __future__ import annotations

import math

import numpy as np

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common import elementwise
from ttc.importers.torch.builder import Operand, TorchBuilder
from ttc.importers.torch.elements import (
    BOOL,
    INT64,
    binary,
    floating,
    is_float,
    logical,
    of_floating,
    plus,
    times,
    truth,
    unary,
    unary_number,
    whole,
)
from ttc.importers.torch.ops_arithmetic import truncated


def exp2(b: TorchBuilder, x: SSAValue) -> SSAValue:
    x = floating(b, x)
    return b.nn("pow", b.scalar(2, x), x)


def log2(b: TorchBuilder, x: SSAValue) -> SSAValue:
    return times(b, b.nn("log", floating(b, x)), 1 / math.log(2))


def log10(b: TorchBuilder, x: SSAValue) -> SSAValue:
    return times(b, b.nn("log", floating(b, x)), 1 / math.log(10))


def rounded(b: TorchBuilder, x: SSAValue, *, decimals: int) -> SSAValue:
    """Round to that many places after the point."""
    if not is_float(b, x):
        return x
    scale = 10.0 ** abs(decimals)
    if decimals < 0:
        return times(b, b.nn("round", b.nn("div", x, b.scalar(scale, x))), scale)
    return b.nn("div", b.nn("round", times(b, x, scale)), b.scalar(scale, x))


def fraction(b: TorchBuilder, x: SSAValue) -> SSAValue:
    return b.nn("sub", x, truncated(b, x))


def square(b: TorchBuilder, x: SSAValue) -> SSAValue:
    x = b.cast(x, INT64) if b.dtype(x) == BOOL else x
    return b.nn("mul", x, x)


def absolute(b: TorchBuilder, x: SSAValue) -> SSAValue:
    return x if b.dtype(x) == BOOL else b.nn("abs", x)


def sign(b: TorchBuilder, x: SSAValue) -> SSAValue:
    """Return the sign, 0 for NaN, unlike nn's."""
    if b.dtype(x) == BOOL:
        return x
    found = b.nn("sign", x)
    return b.nn("where", b.nn("is_nan", x), b.scalar(0, x), found) if is_float(b, x) else found


def sinc(b: TorchBuilder, x: SSAValue) -> SSAValue:
    """Return sin(pi x) / (pi x), 1 at 0."""
    angle = times(b, floating(b, x), math.pi)
    return b.nn("where", b.nn("equal", angle, b.scalar(0, angle)), b.scalar(1, angle), b.nn("div", b.nn("sin", angle), angle))


def is_nan(b: TorchBuilder, x: SSAValue) -> SSAValue:
    return b.nn("is_nan", x) if is_float(b, x) else b.nn("not_equal", x, x)


def is_inf(b: TorchBuilder, x: SSAValue) -> SSAValue:
    return b.nn("is_inf", x) if is_float(b, x) else b.nn("not_equal", x, x)


def is_finite(b: TorchBuilder, x: SSAValue) -> SSAValue:
    return b.nn("not", b.nn("or", is_nan(b, x), is_inf(b, x)))


def is_plus_inf(b: TorchBuilder, x: SSAValue) -> SSAValue:
    return b.nn("and", is_inf(b, x), b.nn("greater", x, b.scalar(0, x)))


def is_minus_inf(b: TorchBuilder, x: SSAValue) -> SSAValue:
    return b.nn("and", is_inf(b, x), b.nn("less", x, b.scalar(0, x)))


def logical_not(b: TorchBuilder, x: SSAValue) -> SSAValue:
    return b.nn("not", truth(b, x))


def nan_to_num(b: TorchBuilder, x: SSAValue, nan: float | None, posinf: float | None, neginf: float | None) -> SSAValue:
    """Return x with numbers in place of NaN and infinities: 0 and the largest, unless others are asked for."""
    if not is_float(b, x):
        return x
    largest = float(_largest(b.dtype(x)))
    found = b.nn("where", b.nn("is_nan", x), b.scalar(nan or 0.0, x), x)
    found = b.nn("where", is_plus_inf(b, x), b.scalar(largest if posinf is None else posinf, x), found)
    return b.nn("where", is_minus_inf(b, x), b.scalar(-largest if neginf is None else neginf, x), found)


def _largest(dtype: np.dtype) -> float:
    import ml_dtypes

    return float(ml_dtypes.finfo(dtype).max)


def where(b: TorchBuilder, condition: SSAValue, x: Operand, y: Operand) -> SSAValue:
    left, right = b.promoted(x, y)
    return b.nn("where", truth(b, condition), left, right)


def masked_fill(b: TorchBuilder, x: SSAValue, mask: SSAValue, value: Operand) -> SSAValue:
    """Return x with a number where the mask holds, in x's dtype, and x's shape broadcast with the mask's."""
    return b.nn("where", truth(b, mask), b.operand(value, b.dtype(x)), x)


def clamp(b: TorchBuilder, x: SSAValue, low: Operand | None, high: Operand | None) -> SSAValue:
    """Limit x: by numbers a clip of floating point; else by minimum and maximum."""
    bounds = [v for v in (low, high) if v is not None]
    dtype = b.common(x, *bounds)
    x = b.cast(x, dtype)
    if is_float(b, x) and not any(isinstance(v, SSAValue) for v in bounds):
        limits = [None if v is None or isinstance(v, SSAValue) else float(v) for v in (low, high)]
        return b.nn("clip", x, min=limits[0], max=limits[1])
    x = x if low is None else b.nn("maximum", x, b.operand(low, dtype))
    return x if high is None else b.nn("minimum", x, b.operand(high, dtype))


def clamp_min(b: TorchBuilder, x: SSAValue, low: Operand) -> SSAValue:
    return clamp(b, x, low, None)


def clamp_max(b: TorchBuilder, x: SSAValue, high: Operand) -> SSAValue:
    return clamp(b, x, None, high)


def fmax(b: TorchBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return the larger; the number if one is NaN."""
    return _number_of(b, "maximum", x, y)


def fmin(b: TorchBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return the smaller; the number if one is NaN."""
    return _number_of(b, "minimum", x, y)


def _number_of(b: TorchBuilder, op: str, x: SSAValue, y: SSAValue) -> SSAValue:
    left, right = b.promoted(x, y)
    found = b.nn(op, left, right)
    return b.nn("where", is_nan(b, left), right, b.nn("where", is_nan(b, right), left, found)) if is_float(b, left) else found


def is_close(b: TorchBuilder, x: SSAValue, y: SSAValue, rtol: float, atol: float, equal_nan: bool) -> SSAValue:
    """Return whether |x - y| <= atol + rtol |y|, or x = y."""
    left, right = b.promoted(x, y)
    same = b.nn("equal", left, right)
    if not is_float(b, left):
        left, right = floating(b, left), floating(b, right)
    allowed = plus(b, times(b, b.nn("abs", right), rtol), atol)
    distance = b.nn("abs", b.nn("sub", left, right))
    near = b.nn("and", b.nn("less_equal", distance, allowed), is_finite(b, distance))
    found = b.nn("or", same, near)
    return b.nn("or", found, b.nn("and", is_nan(b, left), is_nan(b, right))) if equal_nan else found


ROWS = {
    **{f"aten.{op}.default": unary(op) for op in "acos acosh asin asinh atan atanh cos cosh erf exp log sin sinh sqrt rsqrt".split()},
    **{f"aten.{op}.default": unary(op) for op in "reciprocal sigmoid tanh".split()},
    **{f"aten.{op}.default": whole(op) for op in "ceil floor round".split()},
    **{
        f"aten.{op}.{kind}": binary(nn)
        for op, nn in (("lt", "less"), ("le", "less_equal"), ("gt", "greater"))
        for kind in ("Tensor", "Scalar")
    },
    **{
        f"aten.{op}.{kind}": binary(nn)
        for op, nn in (("ge", "greater_equal"), ("eq", "equal"), ("ne", "not_equal"))
        for kind in ("Tensor", "Scalar")
    },
    **{f"aten.logical_{op}.default": logical(op) for op in ("and", "or", "xor")},
    "aten.maximum.default": binary("maximum", "or"),
    "aten.minimum.default": binary("minimum", "and"),
    "aten.abs.default": absolute,
    "aten.neg.default": unary_number("neg"),
    "aten.sign.default": sign,
    "aten.sgn.default": sign,
    "aten.trunc.default": truncated,
    "aten.frac.default": fraction,
    "aten.square.default": square,
    "aten.exp2.default": exp2,
    "aten.expm1.default": of_floating(elementwise.expm1),
    "aten.log1p.default": of_floating(elementwise.log1p),
    "aten.log2.default": log2,
    "aten.log10.default": log10,
    "aten.tan.default": of_floating(elementwise.tan),
    "aten.erfc.default": of_floating(elementwise.erfc),
    "aten.round.decimals": rounded,
    "aten.sinc.default": sinc,
    "aten.isnan.default": is_nan,
    "aten.isinf.default": is_inf,
    "aten.isfinite.default": is_finite,
    "aten.isposinf.default": is_plus_inf,
    "aten.isneginf.default": is_minus_inf,
    "aten.isclose.default": is_close,
    "aten.logical_not.default": logical_not,
    "aten.nan_to_num.default": nan_to_num,
    "aten.where.self": where,
    "aten.where.ScalarOther": where,
    "aten.where.ScalarSelf": where,
    "aten.where.Scalar": where,
    "aten.masked_fill.Scalar": masked_fill,
    "aten.masked_fill.Tensor": masked_fill,
    "aten.clamp.default": clamp,
    "aten.clamp.Tensor": clamp,
    "aten.clamp_min.default": clamp_min,
    "aten.clamp_min.Tensor": clamp_min,
    "aten.clamp_max.default": clamp_max,
    "aten.clamp_max.Tensor": clamp_max,
    "aten.max.other": binary("maximum", "or"),
    "aten.min.other": binary("minimum", "and"),
    "aten.fmax.default": fmax,
    "aten.fmin.default": fmin,
}
