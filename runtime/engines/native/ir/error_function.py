"""The error function and gelu of float32, each one polynomial.

erf(x) = x Q(x^2), where Q falls from 2 / sqrt(pi) to almost 0 without a turn: as a polynomial in t = x^2 / M - 1, M in the middle of the
range, no term is much larger than the sum, and Horner's rule loses next to nothing.  Beyond the range erf is 1 in float32: the polynomial
ends a little above 1, and its last value is cut there.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

_ERF_END = 3.92
_ERF = (
    -0.0008439358789473772,
    0.0020987891706216335,
    -0.0013945086393505335,
    0.0019199697999283671,
    -0.00766057288274169,
    0.01420995220541954,
    -0.01999499462544918,
    0.029697567224502563,
    -0.04343687742948532,
    0.05839599668979645,
    -0.07401981204748154,
    0.09059697389602661,
    -0.10917922854423523,
    0.134084552526474,
    -0.18010862171649933,
    0.36073682,
)
"""erf(x) / x in t: within 3e-8, relatively."""
_GELU_END = 5.5
_GELU = (
    0.0005380800575949252,
    -0.0013688097476619482,
    0.0010238374816253781,
    -0.0012293998152017593,
    0.004236387554556131,
    -0.007674671709537506,
    0.010468616150319576,
    -0.014671364799141884,
    0.020287983119487762,
    -0.026112468913197517,
    0.03208174183964729,
    -0.03878726810216904,
    0.047736991196870804,
    -0.06417247653007507,
    0.1285519301891327,
)
"""(Phi(x) - 1/2) / x in t, Phi of the normal distribution: Phi within 4e-8."""


def erf(f: Writer, x: Value) -> Value:
    """2 / sqrt(pi) * integral of exp(-t^2) from 0 to x; 4 ulp."""
    size = f.smaller(_ERF_END, f.unary("fabs", x))
    return f.with_sign(f.smaller(1.0, _odd(f, size, _ERF, _ERF_END)), x)


def gelu(f: Writer, x: Value) -> Value:
    """x Phi(x); within 2e-7 |x|."""
    size = f.unary("fabs", x)
    half = f.smaller(0.5, _odd(f, f.smaller(_GELU_END, size), _GELU, _GELU_END))
    return f.fma(size, half, x * 0.5)


def gelu_tanh(f: Writer, x: Value) -> Value:
    """x (1 + tanh u) / 2 = x / (1 + e^-2u), u = sqrt(2 / pi) (x + 0.044715 x^3); within 2e-7 |x|."""
    scale = -2.0 * sqrt(2.0 / pi)
    inner = x * f.fma(x * x, 0.044715 * scale, scale)
    return x / (f.exp(inner) + 1.0)


def _odd(f: Writer, size: Value, coefficients: tuple[float, ...], end: float) -> Value:
    """size Q(size^2), Q in t from -1 to 1."""
    square = size * size
    return size * f.polynomial(f.fma(square, 2.0 / end**2, -1.0), coefficients)
