"""Functions of real numbers, by polynomials; each says how far it may be off.

All are of float32, scalar or vector, without branches, and right at zeros of both signs, denormals, infinities and NaN.  Errors are in
units in the last place of the result (ulp), the largest found against float64 over all exponents.  Polynomials are minimax (Remez), with
coefficients rounded to float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ttc.runtime.engines.native.ir.instructions import Instructions, suffix
from ttc.runtime.engines.native.ir.values import Operand, Value

_INFINITY, _NAN = float("inf"), float("nan")
_MAGIC = float(3 << 22)
"""Added to a whole number below 2^22, leaves it in the last bits of the sum."""
_MAGIC_BITS = 0x4B400000

_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440054690583e-4
"""ln 2 in two parts; products of the first with whole numbers below 2^14 are exact."""
_EXP_NEAR = (0.0013814173871651292, 0.008368921466171741, 0.04166840761899948, 0.1666651964187622, 0.4999999403953552)
"""(exp r - 1 - r) / r^2 for |r| <= ln 2 / 2: within 3e-9 of exp r."""
_EXP_LOWEST, _EXP_HIGHEST = -104.0, 89.0
"""Beyond them exp is 0 and infinite in float32."""

_SQRT_HALF_BITS, _ONE_BITS = 0x3F3504F3, 0x3F800000
_LOG_NEAR = (
    0.06747736781835556,
    -0.11677517741918564,
    0.11888695508241653,
    -0.12405339628458023,
    0.14219453930854797,
    -0.16668005287647247,
    0.20002123713493347,
    -0.25000008940696716,
    0.3333331346511841,
)
"""(ln(1 + r) - r + r^2 / 2) / r^3 for 1 + r in [sqrt 1/2, sqrt 2]: within 8e-10 of ln(1 + r), relatively."""


class Mathematics(Instructions):
    """What a `Writer` can compute of floating-point values beyond arithmetic."""

    # ---- parts of functions ------------------------------------------------------------------------------------------------------------

    def polynomial(self, x: Value, coefficients: Sequence[float]) -> Value:
        """Return a polynomial of x, of at least two coefficients, from the highest power down."""
        found: Operand = coefficients[0]
        for coefficient in coefficients[1:]:
            found = self.fma(x, found, coefficient)
        return cast(Value, found)

    def whole(self, name: str, x: Value) -> Value:
        """Return rint (ties to even), floor, ceil or trunc of a number."""
        if self.cpu.arch != "x86-64" or self.cpu.has("sse4.1"):
            return self.unary(name, x)
        if name == "trunc":
            return self.with_sign(self.whole("floor", self.unary("fabs", x)), x)
        large = float(1 << (23 if x.type.dtype == "f32" else 52))
        size = self.unary("fabs", x)
        nearest = self.with_sign(self.select(size < large, size + large - large, size), x)
        if name == "floor":
            return self.select(nearest > x, nearest - 1.0, nearest)
        return self.with_sign(self.select(nearest < x, nearest + 1.0, nearest), x) if name == "ceil" else nearest

    def with_sign(self, size: Value, sign: Value) -> Value:
        """Return the size of one number and the sign of another."""
        lanes = max(size.type.lanes, sign.type.lanes)
        size, sign = self.spread(size, lanes), self.spread(sign, lanes)
        return self.intrinsic(f"llvm.copysign.{suffix(size.type)}", size.type, [size, sign])

    def scaled(self, x: Value, power: Value) -> Value:
        """Return x * 2^power, rounded once.  power: whole, in [-250, 250]; where it is NaN, x must be."""
        lanes = x.type.lanes
        if lanes in (4, 8, 16) and self.cpu.vector_bytes == 64:
            everywhere = self.constant(-1, "i16" if lanes == 16 else "i8")
            name = f"llvm.x86.avx512.mask.scalef.ps.{32 * lanes}"
            return self.intrinsic(name, x.type, [x, power, x, everywhere], (4,) if lanes == 16 else ())
        number = self.as_whole(power)
        half = number >> 1
        return x * self.power_of_two(half) * self.power_of_two(number - half)

    def as_whole(self, x: Value) -> Value:
        """Return a whole float32 of less than 2^22 as an i32."""
        return self.bits(x + _MAGIC, "i32") - _MAGIC_BITS

    def power_of_two(self, number: Value) -> Value:
        """Return 2^number as a float32, for i32 in [-126, 127]."""
        return self.bits((number + 127) << 23, "f32")

    # ---- exponentials ------------------------------------------------------------------------------------------------------------------

    def exp(self, x: Value) -> Value:
        """Return e^x within 1 ulp, elementwise."""
        power, r = self._reduced(self.larger(_EXP_LOWEST, self.smaller(_EXP_HIGHEST, x)))
        return self.scaled(self.polynomial(r, (*_EXP_NEAR, 1.0, 1.0)), power)

    def expm1(self, x: Value) -> Value:
        """Return e^x - 1 within 2 ulp, elementwise."""
        power, r = self._reduced(self.larger(-20.0, self.smaller(_EXP_HIGHEST, x)))
        near = self.fma(r * r, self.polynomial(r, _EXP_NEAR), r)
        scale = self.power_of_two(self.as_whole(power) - 1)  # half of it: 2^128 is too large
        return self.with_sign(self.fma(scale, near, scale - 0.5) * 2.0, x)

    def sigmoid(self, x: Value) -> Value:
        """Return 1 / (1 + e^-x) within 2 ulp, elementwise."""
        return 1.0 / (self.exp(-x) + 1.0)

    def tanh(self, x: Value) -> Value:
        """Return (e^2x - 1) / (e^2x + 1) within 3 ulp, elementwise."""
        size = self.smaller(10.0, self.unary("fabs", x))
        grown = self.expm1(size + size)
        return self.with_sign(grown / (grown + 2.0), x)

    def _reduced(self, x: Value) -> tuple[Value, Value]:
        """n and r so that e^x = 2^n e^r, |r| <= ln 2 / 2."""
        power = self.whole("rint", x * _LOG2_E)
        return power, self.fma(power, -_LN2_LOW, self.fma(power, -_LN2_HIGH, x))

    # ---- logarithms --------------------------------------------------------------------------------------------------------------------

    def log(self, x: Value) -> Value:
        """Return ln x within 1 ulp, elementwise."""
        tiny = x < 2.0**-126
        power, r = self._split(self.select(tiny, x * 2.0**23, x))
        found = self._log_of_split(self.select(tiny, power - 23.0, power), r)
        return self._log_or_special(found, x, x)

    def log1p(self, x: Value) -> Value:
        """Return ln(1 + x) within 2 ulp, elementwise."""
        sum_ = x + 1.0
        lost = x - (sum_ - 1.0)
        power, r = self._split(sum_)
        inverse = self.power_of_two(-self.as_whole(self.smaller(power, 126.0)))  # nothing is lost beyond
        return self.with_sign(self._log_or_special(self._log_of_split(power, self.fma(lost, inverse, r)), sum_, x), x)

    def _split(self, x: Value) -> tuple[Value, Value]:
        """n and r so that x = 2^n (1 + r), 1 + r in [sqrt 1/2, sqrt 2), for normal x."""
        bits = self.bits(x, "i32")
        power = (bits - _SQRT_HALF_BITS) >> 23
        return self.converted(power, "f32"), self.bits(bits - (power << 23), "f32") - 1.0

    def _log_of_split(self, power: Value, r: Value) -> Value:
        """power ln 2 + ln(1 + r), smallest parts first."""
        square = r * r
        tail = self.fma(power, _LN2_LOW, square * r * self.polynomial(r, _LOG_NEAR))
        return self.fma(power, _LN2_HIGH, self.fma(square, -0.5, tail) + r)

    def _log_or_special(self, found: Value, of: Value, x: Value) -> Value:
        """Return the logarithm found, or what that of 0, of negative numbers, of infinity and NaN is."""
        special = self.select(of.equals(0.0), -_INFINITY, self.select(of < 0.0, self.constant(_NAN, "f32", of.type.lanes), x))
        return self.select((of > 0.0) & (of < _INFINITY), found, special)
