"""Special functions: gamma and its kin, error functions, Bessel functions, orthogonal polynomials; in float64 inside.

Formulas are those of Abramowitz and Stegun; where one needs an integral or a series, a polynomial that meets it is fitted at import.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.nn.formulas import Formula
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.formulas import FLOAT64, chebyshev, fitted, polynomial, row_of
from ttc.importers.torch.tables import Rows

SHIFT = 8
"""The steps of a recurrence that bring an argument to where asymptotic series hold."""
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)


def _fraction(x: Formula) -> Formula:
    return x - x.of("floor")


def lgamma(x: Formula) -> Formula:
    """Return ln |gamma(x)|: Stirling's series; below 1/2 by reflection, infinite at 0, -1, -2..."""
    below = x < 0.5
    at = below.choose(1.0 - x, x)
    product = at
    for k in range(1, SHIFT):
        product = product * (at + float(k))
    small = at < 16.0
    far = small.choose(at + float(SHIFT), at)
    series = polynomial(1 / (far * far), (1 / 12, -1 / 360, 1 / 1260, -1 / 1680)) / far
    found = (far - 0.5) * far.of("log") - far + (0.5 * math.log(2 * math.pi)) + series
    found = found - small.choose(product, 1.0).of("log")
    sine = abs((_fraction(x) * math.pi).of("sin"))
    return below.choose(math.log(math.pi) - sine.of("log") - found, found)


def digamma(x: Formula) -> Formula:
    """Return the derivative of ln gamma: recurrence and asymptotic series; below 0 by reflection."""
    negative = x < 0.0
    at = negative.choose(1.0 - x, x)
    sums = 1 / at
    for k in range(1, SHIFT):
        sums = sums + 1 / (at + float(k))
    far = at + float(SHIFT)
    square = 1 / (far * far)
    found = far.of("log") - 0.5 / far - square * polynomial(square, (1 / 12, -1 / 120, 1 / 252, -1 / 240)) - sums
    angle = _fraction(x) * math.pi
    turned = found - math.pi * angle.of("cos") / angle.of("sin")
    pole = (x < 0.0) & _fraction(x).equals(0.0)
    return x.equals(0.0).choose(-math.inf, pole.choose(math.nan, negative.choose(turned, found)))


def _zeta(s: Formula, q: Formula) -> Formula:
    """Hurwitz zeta for q > 0: terms, and Euler and Maclaurin's sum for the rest."""
    total = q ** (-s)
    for k in range(1, 10):
        total = total + (q + float(k)) ** (-s)
    far = q + 10.0
    power = far ** (-s)
    total = total + far * power / (s - 1.0) + power * 0.5
    factor, scale = s / far, 1.0
    for k, number in enumerate(BERNOULLI):
        scale *= (2 * k + 1) * (2 * k + 2)
        total = total + power * factor * (number / scale)
        factor = factor * (s + float(2 * k + 1)) * (s + float(2 * k + 2)) / (far * far)
    return total


def zeta(s: Formula, q: Formula) -> Formula:
    """Return Hurwitz's zeta; of negative q for whole s, by the two series that meet at 0."""
    part = _fraction(q)
    even = (_fraction(s * 0.5)).equals(0.0).choose(1.0, s * 0.0 - 1.0)
    positive = q > 0.0
    main = _zeta(s, positive.choose(q, part))
    turned = main + even * (_zeta(s, 1.0 - part) - _zeta(s, (1.0 - q).at_least(1.0)))
    found = positive.choose(main, turned)
    pole = (q <= 0.0) & part.equals(0.0)
    lost = (q <= 0.0) & (abs(_fraction(s)) > 0.0)
    found = pole.choose(math.inf, lost.choose(math.nan, found))
    return s.equals(1.0).choose(math.inf, (s < 1.0).choose(math.nan, found))


def polygamma(b: TorchBuilder, n: int, x: SSAValue) -> SSAValue:
    """Return the n-th derivative of digamma: (-1)^(n + 1) n! zeta(n + 1, x)."""
    at = Formula(b, b.cast(x, FLOAT64))
    if n == 0:
        return b.cast(digamma(at).value, b.result)
    if n > 100:
        raise Unsupported(f"a derivative of order {n}")
    found = zeta(at * 0.0 + float(n + 1), at) * ((-1.0) ** (n + 1) * math.factorial(n))
    return b.cast(found.value, b.result)


# ---- error functions ---------------------------------------------------------------------------------------------------------------


def erfinv(x: Formula) -> Formula:
    """Return the inverse of erf: Winitzki's approximation, then Newton's steps."""
    rest = (1.0 - x * x).at_least(1e-300).of("log")
    a = 0.147
    half = rest * 0.5 + 2 / (math.pi * a)
    y = x.of("sign") * ((half * half - rest / a).of("sqrt") - half).of("sqrt")
    for _ in range(3):
        y = y - (y.of("erf") - x) * (math.sqrt(math.pi) / 2) * (y * y).of("exp")
    y = abs(x).equals(1.0).choose(x.of("sign") * math.inf, y)  # a product with x would have infinite gradients everywhere
    return (abs(x) > 1.0).choose(math.nan, y)


def ndtri(x: Formula) -> Formula:
    """Return the place where the normal distribution is x."""
    return erfinv(x * 2.0 - 1.0) * math.sqrt(2)


def _scaled_erfc(x: NDArray) -> NDArray:
    """exp(x^2) erfc(x) for x >= 0: 2 / sqrt(pi) times the integral of exp(-t^2 - 2 x t) over t > 0, by Gauss and Legendre.

    Beyond 20 it is the asymptotic series, whose first 11 terms are exact there.
    """
    nodes, weights = np.polynomial.legendre.leggauss(200)
    near, far = np.minimum(x, 20.0), np.maximum(x, 20.0)
    length = np.minimum(30 / (1 + 2 * near)[:, None] ** 0.5, 8)
    t = (nodes + 1) / 2 * length
    integral = 2 / math.sqrt(math.pi) * (np.exp(-t * t - 2 * near[:, None] * t) * weights * length / 2).sum(1)
    factors = np.cumprod([np.ones(far.shape), *(-(2 * k - 1) / (2 * far * far) for k in range(1, 12))], axis=0)
    return np.where(x > 20.0, factors.sum(0) / (far * math.sqrt(math.pi)), integral)


@cache
def _erfcx_fit() -> tuple[float, ...]:
    return fitted(lambda t: _scaled_erfc(4 / t - 4) * (1 + 2 * (4 / t - 4)), 0, 1)


def erfcx(x: Formula) -> Formula:
    """Return exp(x^2) erfc(x), a polynomial in 4 / (4 + |x|) over 1 + 2 |x|; below 0 by erfc(-x) = 2 - erfc(x)."""
    size = (x < 0.0).choose(-x, x)  # that of abs has no slope at 0
    found = chebyshev(4 / (size + 4.0), 0, 1, _erfcx_fit()) / (1 + size * 2.0)
    below = x.at_most(0.0)  # exp(x^2) of large x is infinite, and its gradient times 0 is no number
    return (x < 0.0).choose((below * below).of("exp") * 2.0 - found, found)


def log_ndtr(x: Formula) -> Formula:
    """Return the logarithm of the share of the normal distribution that is below x, without exp(x^2) of large x."""
    low, high = x.at_most(2.0) * -math.sqrt(0.5), x.at_least(0.5) * math.sqrt(0.5)  # ends apart from 1: ties halve gradients
    above = erfcx(high) * (-(high * high)).of("exp") * 0.5
    near = (above / (above - 2.0)).of("atanh") * 2.0  # log(1 - above), which loses nothing near 0
    return (x < 1.0).choose((erfcx(low) * 0.5).of("log") - low * low, near)


# ---- modified Bessel functions -------------------------------------------------------------------------------------------------------

ANGLES = (np.arange(4096) + 0.5) * np.pi / 4096


def _scaled_i(order: int, x: NDArray) -> NDArray:
    """exp(-x) I(x): the mean of cos(order t) exp(x (cos t - 1)) over half a turn."""
    return (np.exp(x[:, None] * (np.cos(ANGLES) - 1)) * np.cos(order * ANGLES)).mean(1)


def _scaled_k(order: int, x: NDArray) -> NDArray:
    """exp(x) K(x): the integral of cosh(order t) exp(-x (cosh t - 1)) over t > 0."""
    t = np.linspace(0, 12, 4001)
    values = np.exp(-x[:, None] * (np.cosh(t) - 1)) * np.cosh(order * t)
    return (values.sum(1) - values[:, 0] / 2) * (t[1] - t[0])


@cache
def _i_fits(order: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    near = fitted(lambda x: _scaled_i(order, x), 0, 8, 30)
    return near, fitted(lambda t: _scaled_i(order, 8 / t) * np.sqrt(8 / t), 0.002, 1, 20)


def scaled_i(order: int, x: Formula) -> Formula:
    """Return exp(-|x|) I(x): polynomials in |x| up to 8, in 8 / |x| beyond."""
    near, far = _i_fits(order)
    size = abs(x) if order == 0 else (x < 0.0).choose(-x, x)  # that of order 1 has slope 1/2 at 0
    large = size.at_least(8.0)
    outside = chebyshev((8 / large).at_least(0.002), 0.002, 1, far) / large.of("sqrt")
    found = (size > 8.0).choose(outside, chebyshev(size.at_most(8.0), 0, 8, near))
    return found if order == 0 else (x < 0.0).choose(-found, found)


def bessel_i(order: int, x: Formula) -> Formula:
    return scaled_i(order, x) * abs(x).of("exp")


@cache
def _k_fits(order: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    def near(x: NDArray) -> NDArray:
        """Return what is left of K without its logarithm: smooth in x; of order 1 times x."""
        log = np.log(x / 2) * _scaled_i(order, x) * np.exp(x)
        plain = _scaled_k(order, x) * np.exp(-x)
        return plain + log if order == 0 else (plain - log) * x

    return fitted(near, 0.001, 2, 30), fitted(lambda t: _scaled_k(order, 2 / t) * np.sqrt(2 / t), 0.002, 1, 24)


def bessel_k(order: int, x: Formula, *, scaled: bool) -> Formula:
    """Return K(x), or exp(x) K(x): for x up to 2 with the logarithm of x taken out, beyond it a polynomial in 2 / x."""
    near, far = _k_fits(order)
    small, large = x.at_most(2.0).at_least(0.001), x.at_least(2.0)
    smooth = chebyshev(small, 0.001, 2, near)
    log = (small * 0.5).of("log") * bessel_i(order, small)
    inside = smooth - log if order == 0 else smooth / small + log
    inside = inside * small.of("exp") if scaled else inside
    outside = chebyshev((2 / large).at_least(0.002), 0.002, 1, far) / large.of("sqrt")
    outside = outside if scaled else outside * (-large).of("exp")
    found = (x > 2.0).choose(outside, inside)
    return x.equals(0.0).choose(math.inf, (x < 0.0).choose(math.nan, found))


ROWS: Rows = {
    "aten.lgamma.default": row_of(lgamma),
    "aten.digamma.default": row_of(digamma),
    "aten.polygamma.default": polygamma,
    "aten.special_zeta.default": row_of(zeta),
    "aten.special_zeta.other_scalar": row_of(zeta),
    "aten.special_zeta.self_scalar": row_of(zeta),
    "aten.erfinv.default": row_of(erfinv),
    "aten.special_ndtri.default": row_of(ndtri),
    "aten.special_erfcx.default": row_of(erfcx),
    "aten.special_log_ndtr.default": row_of(log_ndtr),
    "aten.i0.default": row_of(lambda x: bessel_i(0, x)),
    "aten.special_i0e.default": row_of(lambda x: scaled_i(0, x)),
    "aten.special_i1.default": row_of(lambda x: bessel_i(1, x)),
    "aten.special_i1e.default": row_of(lambda x: scaled_i(1, x)),
    "aten.special_modified_bessel_i0.default": row_of(lambda x: bessel_i(0, x)),
    "aten.special_modified_bessel_i1.default": row_of(lambda x: bessel_i(1, x)),
    "aten.special_modified_bessel_k0.default": row_of(lambda x: bessel_k(0, x, scaled=False)),
    "aten.special_modified_bessel_k1.default": row_of(lambda x: bessel_k(1, x, scaled=False)),
    "aten.special_scaled_modified_bessel_k0.default": row_of(lambda x: bessel_k(0, x, scaled=True)),
    "aten.special_scaled_modified_bessel_k1.default": row_of(lambda x: bessel_k(1, x, scaled=True)),
}
