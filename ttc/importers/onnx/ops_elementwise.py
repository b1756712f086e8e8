"""Elementwise ops of one and two operands, comparisons, logic."""

from __future__ import annotations

from functools import reduce
from typing import Protocol

import ml_dtypes
import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.spec import STORED_ONLY
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.elementwise import tan
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.tables import MAPPINGS
from ttc.importers.onnx.tensors import DTYPES, type_name


class ElementwiseRow(Protocol):
    def __call__(self, b: Builder, *operands: SSAValue) -> SSAValue: ...


def same(op: str) -> ElementwiseRow:
    """Return the nn op of that name on the same operands."""
    return lambda b, *operands: b.nn(op, *operands)


MAPPINGS.add("Abs-1", same("abs"))
MAPPINGS.add("Neg-1", same("neg"))
MAPPINGS.add("Exp-1", same("exp"))
MAPPINGS.add("Log-1", same("log"))
MAPPINGS.add("Sqrt-1", same("sqrt"))
MAPPINGS.add("Reciprocal-1", same("reciprocal"))
MAPPINGS.add("Floor-1", same("floor"))
MAPPINGS.add("Ceil-1", same("ceil"))
MAPPINGS.add("Round-11", same("round"))
MAPPINGS.add("Sign-9", same("sign"))
MAPPINGS.add("Sin-7", same("sin"))
MAPPINGS.add("Cos-7", same("cos"))
MAPPINGS.add("Erf-9", same("erf"))
MAPPINGS.add("Not-1", same("not"))
MAPPINGS.add("IsNaN-9", same("is_nan"))

MAPPINGS.add("Add-7", same("add"))
MAPPINGS.add("Sub-7", same("sub"))
MAPPINGS.add("Mul-7", same("mul"))
MAPPINGS.add("Pow-7", same("pow"))
MAPPINGS.add("Equal-7", same("equal"))
MAPPINGS.add("Less-7", same("less"))
MAPPINGS.add("Greater-7", same("greater"))
MAPPINGS.add("LessOrEqual-12", same("less_equal"))
MAPPINGS.add("GreaterOrEqual-12", same("greater_equal"))
MAPPINGS.add("And-7", same("and"))
MAPPINGS.add("Or-7", same("or"))
MAPPINGS.add("Xor-7", same("xor"))
MAPPINGS.add("Where-9", same("where"))


@MAPPINGS.rule("Div-7")
def div_7(b: Builder, dividend: SSAValue, divisor: SSAValue) -> SSAValue:
    return b.nn("div", dividend, divisor)


@MAPPINGS.rule("Mod-10")
def mod_10(b: Builder, dividend: SSAValue, divisor: SSAValue, *, fmod: int = 0) -> SSAValue:
    return b.nn("mod", dividend, divisor, fmod=bool(fmod))


MAPPINGS.add("Tan-7", tan)


@MAPPINGS.rule("IsInf-10")
def is_inf_10(b: Builder, x: SSAValue, *, detect_negative: int = 1, detect_positive: int = 1) -> SSAValue:
    found = b.nn("is_inf", x)
    if not detect_negative:
        found = b.nn("and", found, b.nn("greater", x, b.scalar(0, x)))
    if not detect_positive:
        found = b.nn("and", found, b.nn("less", x, b.scalar(0, x)))
    return found


@MAPPINGS.rule("Cast-6")
def cast_6(b: Builder, x: SSAValue, *, to: int, saturate: int = 1, round_mode: str = "up") -> SSAValue:
    if to not in DTYPES:
        raise Unsupported(f"casts to {type_name(to)}")
    return converted(b, x, DTYPES[to], saturate=bool(saturate), rounding=round_mode)


@MAPPINGS.rule("CastLike-15")
def cast_like_15(b: Builder, x: SSAValue, target: SSAValue, *, saturate: int = 1, round_mode: str = "up") -> SSAValue:
    return converted(b, x, b.dtype(target), saturate=bool(saturate), rounding=round_mode)


def converted(b: Builder, x: SSAValue, dtype: np.dtype, *, saturate: bool = True, rounding: str = "up") -> SSAValue:
    """Return x as another type; narrow floats take numbers beyond their range, infinities too, as their largest if it saturates."""
    if b.dtype(x) == dtype:
        return x
    if dtype not in STORED_ONLY or dtype.name.startswith(("int", "uint")) or b.dtype(x) in STORED_ONLY:
        return b.cast(x, dtype)
    if dtype == np.dtype(ml_dtypes.float8_e8m0fnu):
        return _power_of_two(b, b.cast(x, np.dtype(np.float32)), saturate=saturate, rounding=rounding)
    wide = x if b.dtype(x).kind in "fV" else b.cast(x, np.dtype(np.float32))
    largest = float(ml_dtypes.finfo(dtype).max)
    return b.cast(b.nn("clip", wide, min=-largest, max=largest) if saturate else wide, dtype)


def _power_of_two(b: Builder, x: SSAValue, *, saturate: bool, rounding: str) -> SSAValue:
    """Return the exponents of float32 numbers, rounded up, down or to the nearest; that of infinities and NaN is NaN."""
    if rounding not in ("up", "down", "nearest"):
        raise Error("E0402", f"round_mode '{rounding[:20]}' is unknown")
    bits = b.nn("bitcast", x, source=b.dtype(x), dtype=np.dtype(np.uint32))

    def some(mask: int) -> SSAValue:
        return b.nn("greater", b.nn("bitwise_and", bits, b.scalar(mask, bits)), b.scalar(0, bits))

    exponent = b.nn("bitwise_and", b.nn("shift_right", bits, b.scalar(23, bits)), b.scalar(0xFF, bits))
    if rounding != "down":
        nearest = b.nn("and", some(0x400000), b.nn("or", some(0x3FFFFF), some(0x7F800000)))
        more = some(0x7FFFFF) if rounding == "up" else nearest
        more = b.nn("and", more, b.nn("less", exponent, b.scalar(0xFE if saturate else 0xFF, bits)))
        exponent = b.nn("add", exponent, b.cast(more, b.dtype(bits)))
    codes = b.cast(exponent, np.dtype(np.uint8))
    return b.nn("bitcast", codes, source=b.dtype(codes), dtype=np.dtype(ml_dtypes.float8_e8m0fnu))


@MAPPINGS.rule("Clip-1")
def clip_1(b: Builder, x: SSAValue, *, min: float = -3.4028234663852886e38, max: float = 3.4028234663852886e38) -> SSAValue:
    return b.nn("clip", x, min=min, max=max)


@MAPPINGS.rule("Clip-11")
def clip_11(b: Builder, x: SSAValue, min: SSAValue | None = None, max: SSAValue | None = None) -> SSAValue:
    """Map Clip with constant bounds to a clip, else to minimum and maximum, by which integers keep their exact bounds, too."""
    known = [None if v is None else b.known(v) for v in (min, max)]
    numbers = [k is not None and k.size == 1 for k, v in zip(known, (min, max), strict=True) if v is not None]
    by_value = b.dtype(x).kind in "fV" and all(numbers)
    if by_value:
        low, high = (None if k is None else float(k.ravel()[0]) for k in known)
        return x if low is None and high is None else b.nn("clip", x, min=low, max=high)
    if min is not None:
        x = b.nn("maximum", x, min)
    return x if max is None else b.nn("minimum", x, max)


def _fold(op: str) -> ElementwiseRow:
    """Return a variadic op as a chain of binary ones."""
    return lambda b, *operands: reduce(lambda x, y: b.nn(op, x, y), operands)


MAPPINGS.add("Max-1", _fold("maximum"))
MAPPINGS.add("Min-1", _fold("minimum"))
sum_1 = _fold("add")
MAPPINGS.add("Sum-1", sum_1)


@MAPPINGS.rule("Mean-1")
def mean_1(b: Builder, *operands: SSAValue) -> SSAValue:
    return b.nn("div", sum_1(b, *operands), b.scalar(len(operands), operands[0]))
