"""Sums, products, quotients, powers and remainders, with PyTorch's promotion of operands."""

from __future__ import annotations

import math

import numpy as np

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common import elementwise
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import Operand, TorchBuilder
from ttc.importers.torch.elements import BOOL, binary, binary_floating, floating, is_float, times


def add(b: TorchBuilder, x: Operand, y: Operand, alpha: float = 1) -> SSAValue:
    """Return x + alpha y in their common type; of truth values, whether one is true."""
    left, right = b.promoted(x, y)
    if b.dtype(left) == BOOL:
        return b.nn("or", left, right) if alpha else left
    return b.nn("add", left, times(b, right, alpha))


def sub(b: TorchBuilder, x: Operand, y: Operand, alpha: float = 1) -> SSAValue:
    """Return x - alpha y in their common type."""
    left, right = b.promoted(x, y)
    return b.nn("sub", left, times(b, right, alpha))


def rsub(b: TorchBuilder, x: Operand, y: Operand, alpha: float = 1) -> SSAValue:
    """Return y - alpha x in their common type."""
    return sub(b, y, x, alpha)


true_divide = binary_floating("div")


def divide(b: TorchBuilder, x: Operand, y: Operand, *, rounding_mode: str | None) -> SSAValue:
    """Return the quotient as it is, cut toward zero, or rounded down."""
    if rounding_mode is None:
        return true_divide(b, x, y)
    if rounding_mode == "floor":
        return floor_divide(b, x, y)
    if rounding_mode != "trunc":
        raise Unsupported(f"rounding_mode {rounding_mode[:20]}")
    left, right = b.promoted(x, y)
    return truncated(b, b.nn("div", left, right))


def truncated(b: TorchBuilder, x: SSAValue) -> SSAValue:
    """Return x cut toward zero, elementwise."""
    if not is_float(b, x):
        return x
    return b.nn("where", b.nn("less", x, b.scalar(0, x)), b.nn("ceil", x), b.nn("floor", x))


def floor_divide(b: TorchBuilder, x: Operand, y: Operand) -> SSAValue:
    """Return the quotient rounded down: without the remainder, the division is exact."""
    left, right = b.promoted(x, y)
    even = b.nn("sub", left, b.nn("mod", left, right, fmod=False))
    if not is_float(b, left):
        return b.nn("div", even, right)
    plain = b.nn("div", left, right)
    quotient = b.nn("where", b.nn("is_inf", right), b.nn("floor", plain), b.nn("round", b.nn("div", even, right)))
    return b.nn("where", b.nn("equal", right, b.scalar(0, right)), plain, quotient)


def remainder(b: TorchBuilder, x: Operand, y: Operand) -> SSAValue:
    """Return the remainder with the sign of y."""
    left, right = b.promoted(x, y)
    return b.nn("mod", left, right, fmod=False)


def fmod(b: TorchBuilder, x: Operand, y: Operand) -> SSAValue:
    """Return the remainder with the sign of x."""
    left, right = b.promoted(x, y)
    return b.nn("mod", left, right, fmod=True)


power = binary("pow")


def atan2(b: TorchBuilder, y: Operand, x: Operand) -> SSAValue:
    up, right = (floating(b, v) for v in b.promoted(y, x))
    return elementwise.atan2(b, up, right)


def addcmul(b: TorchBuilder, x: Operand, y: Operand, z: Operand, *, value: float) -> SSAValue:
    """Return x + value y z, elementwise."""
    first, second, third = b.promoted(x, y, z)
    return b.nn("add", first, times(b, b.nn("mul", second, third), value))


def addcdiv(b: TorchBuilder, x: Operand, y: Operand, z: Operand, *, value: float) -> SSAValue:
    """Return x + value y / z, elementwise."""
    first, second, third = (floating(b, v) for v in b.promoted(x, y, z))
    return b.nn("add", first, times(b, b.nn("div", second, third), value))


def lerp(b: TorchBuilder, x: SSAValue, end: SSAValue, weight: Operand) -> SSAValue:
    """Return x + weight (end - x), elementwise."""
    start, last, part = b.promoted(x, end, weight)
    return b.nn("add", start, b.nn("mul", part, b.nn("sub", last, start)))


def copysign(b: TorchBuilder, x: Operand, y: Operand) -> SSAValue:
    """Return |x| with the sign of y, that of a zero included: its bits say it."""
    size, sign = (floating(b, v) for v in b.promoted(x, y))
    negative = sign_bit(b, sign)
    magnitude = b.nn("abs", size)
    return b.nn("where", negative, b.nn("neg", magnitude), magnitude)


def sign_bit(b: TorchBuilder, x: SSAValue) -> SSAValue:
    """Return whether the sign of x is set."""
    if not is_float(b, x):
        return b.nn("less", x, b.scalar(0, x)) if b.dtype(x) != BOOL else b.nn("xor", x, x)
    dtype = b.dtype(x)
    bits = b.nn("bitcast", x, source=dtype, dtype=np.dtype(f"int{8 * dtype.itemsize}"))
    return b.nn("less", bits, b.scalar(0, bits))


def next_after(b: TorchBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return the number beside x on the side of y: its bits one more or less."""
    left, right = b.promoted(x, y)
    dtype = b.dtype(left)
    whole = np.dtype(f"int{8 * dtype.itemsize}")
    bits = b.nn("bitcast", left, source=dtype, dtype=whole)
    one, zero = b.constant(np.array(1, whole)), b.scalar(0, left)
    outward = b.nn("equal", b.nn("less", left, right), b.nn("less", zero, left))
    moved = b.nn("add", bits, b.nn("where", outward, one, b.constant(np.array(-1, whole))))
    least = b.nn("where", b.nn("less", zero, right), one, b.constant(np.array(np.iinfo(whole).min + 1, whole)))
    moved = b.nn("where", b.nn("equal", left, zero), least, moved)
    found = b.nn("bitcast", moved, source=whole, dtype=dtype)
    found = b.nn("where", b.nn("equal", left, right), right, found)
    return b.nn("where", b.nn("equal", b.nn("add", left, right), b.nn("add", left, right)), found, b.nn("add", left, right))


def fraction_and_exponent(b: TorchBuilder, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Return m and e of x = m 2^e with |m| in [1/2, 1), of float32: bits of small numbers are read 2^32 times as large."""
    if b.dtype(x) != np.float32:
        raise Unsupported(f"bits of {b.dtype(x)}")
    whole = np.dtype(np.int32)
    small = b.nn("less", b.nn("abs", x), b.scalar(2.0**-100, x))
    wide = b.nn("where", small, times(b, x, 2.0**32), x)
    bits = b.nn("bitcast", wide, source=b.dtype(x), dtype=whole)
    field = b.nn("bitwise_and", b.nn("shift_right", bits, b.scalar(23, bits)), b.scalar(0xFF, bits))
    half = b.nn("bitwise_or", b.nn("bitwise_and", bits, b.constant(np.array(-0x7F800001, whole))), b.scalar(0x3F000000, bits))
    exponent = b.nn("sub", field, b.nn("where", small, b.scalar(126 + 32, bits), b.scalar(126, bits)))
    plain = b.nn("or", b.nn("equal", x, b.scalar(0, x)), b.nn("equal", field, b.scalar(0xFF, bits)))
    mantissa = b.nn("where", plain, x, b.nn("bitcast", half, source=whole, dtype=b.dtype(x)))
    return mantissa, b.nn("where", plain, b.scalar(0, bits), exponent)


def scaled_by_power(b: TorchBuilder, x: SSAValue, exponent: SSAValue) -> SSAValue:
    """Return x times 2^exponent, elementwise."""
    left, right = (floating(b, v) for v in b.promoted(x, exponent))
    return b.nn("mul", left, b.nn("pow", b.scalar(2, left), right))


def heaviside(b: TorchBuilder, x: SSAValue, values: SSAValue) -> SSAValue:
    """Return 0 below 0, the value at 0, 1 above."""
    at, middle = b.promoted(x, values)
    zero = b.scalar(0, at)
    side = b.cast(b.nn("greater", at, zero), b.dtype(at))
    return b.nn("where", b.nn("equal", at, zero), middle, side)


def logaddexp(b: TorchBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return ln(e^x + e^y), from the larger on; equal infinities stay."""
    left, right = b.promoted(x, y)
    top = b.nn("maximum", left, right)
    rest = b.nn("softplus", b.nn("neg", b.nn("abs", b.nn("sub", left, right))))
    same = b.nn("and", b.nn("equal", left, right), b.nn("is_inf", left))
    return b.nn("where", same, left, b.nn("add", top, rest))


def logaddexp2(b: TorchBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return log2(2^x + 2^y), elementwise."""
    left, right = (times(b, v, math.log(2)) for v in b.promoted(x, y))
    return times(b, logaddexp(b, left, right), 1 / math.log(2))


def xlogy(b: TorchBuilder, x: Operand, y: Operand) -> SSAValue:
    """Return x ln y; 0 where x is 0 and y a number."""
    left, right = (floating(b, v) for v in b.promoted(x, y))
    product = b.nn("mul", left, b.nn("log", right))
    none = b.nn("and", b.nn("equal", left, b.scalar(0, left)), b.nn("not", b.nn("is_nan", right)))
    return b.nn("where", none, b.scalar(0, left), product)


def hypot(b: TorchBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return sqrt(x^2 + y^2), elementwise."""
    left, right = b.promoted(x, y)
    return b.nn("sqrt", b.nn("add", b.nn("mul", left, left), b.nn("mul", right, right)))


ROWS = {
    "aten.add.Tensor": add,
    "aten.add.Scalar": add,
    "aten.sub.Tensor": sub,
    "aten.sub.Scalar": sub,
    "aten.rsub.Tensor": rsub,
    "aten.rsub.Scalar": rsub,
    "aten.mul.Tensor": binary("mul", "and"),
    "aten.mul.Scalar": binary("mul", "and"),
    "aten.div.Tensor": true_divide,
    "aten.div.Scalar": true_divide,
    "aten.true_divide.Tensor": true_divide,
    "aten.true_divide.Scalar": true_divide,
    "aten.div.Tensor_mode": divide,
    "aten.div.Scalar_mode": divide,
    "aten.floor_divide.default": floor_divide,
    "aten.floor_divide.Scalar": floor_divide,
    "aten.remainder.Tensor": remainder,
    "aten.remainder.Scalar": remainder,
    "aten.remainder.Scalar_Tensor": remainder,
    "aten.fmod.Tensor": fmod,
    "aten.fmod.Scalar": fmod,
    "aten.pow.Tensor_Tensor": power,
    "aten.pow.Tensor_Scalar": power,
    "aten.pow.Scalar": power,
    "aten.atan2.default": atan2,
    "aten.addcmul.default": addcmul,
    "aten.addcdiv.default": addcdiv,
    "aten.lerp.Scalar": lerp,
    "aten.lerp.Tensor": lerp,
    "aten.copysign.Tensor": copysign,
    "aten.copysign.Scalar": copysign,
    "aten.signbit.default": sign_bit,
    "aten.ldexp.Tensor": scaled_by_power,
    "aten.nextafter.default": next_after,
    "aten.frexp.Tensor": fraction_and_exponent,
    "aten.heaviside.default": heaviside,
    "aten.logaddexp.default": logaddexp,
    "aten.logaddexp2.default": logaddexp2,
    "aten.xlogy.Tensor": xlogy,
    "aten.xlogy.Scalar_Other": xlogy,
    "aten.xlogy.Scalar_Self": xlogy,
    "aten.hypot.default": hypot,
}
