"""Bessel functions of the first and second kind, and orthogonal polynomials; in float64 inside.

Formulas are those of Abramowitz and Stegun; series are met by polynomials that are fitted at import.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.nn.formulas import Formula
from ttc.importers.torch.formulas import chebyshev, fitted, polynomial, row_of
from ttc.importers.torch.tables import Row, Rows

EDGE = 8.0
"""The argument up to which polynomials are computed, and beyond which asymptotic series are."""
EULER = 0.5772156649015329
TERMS = 40


def _series(order: int, x: NDArray, weight: Callable[[int], float]) -> NDArray:
    """Return the sum of (-1)^k weight(k) (x / 2)^(2 k + order) / (k! (k + order)!)."""
    terms = ((-1) ** k * weight(k) * (x / 2) ** (2 * k + order) / (math.factorial(k) * math.factorial(k + order)) for k in range(TERMS))
    return np.sum(list(terms), axis=0)


def _harmonic(k: int) -> float:
    return sum(1 / i for i in range(1, k + 1))


@cache
def _j_fit(order: int) -> tuple[float, ...]:
    return fitted(lambda x: _series(order, x, lambda _: 1.0) / x**order, 1e-6, EDGE, 30)


@cache
def _y_fit(order: int) -> tuple[float, ...]:
    """Return what is left of Y without its logarithm and its pole at 0, over x^order."""

    def rest(x: NDArray) -> NDArray:
        found = -_series(order, x, lambda k: _harmonic(k) + _harmonic(k + order)) / math.pi
        return (found + 2 / math.pi * EULER * _series(order, x, lambda _: 1.0)) / x**order

    return fitted(rest, 1e-6, EDGE, 30)


def _phase(order: int, x: Formula) -> tuple[Formula, Formula, Formula]:
    """P and Q of Hankel's expansion for large x, and its angle."""
    mu = 4 * order * order
    p, q, term = [1.0], [], 1.0
    for k in range(1, 8):
        term *= (mu - (2 * k - 1) ** 2) / (8 * k)
        (q if k % 2 else p).append(term * (-1) ** (k // 2))
    square = 1 / (x * x)
    return polynomial(square, p), polynomial(square, q) / x, x - (order / 2 + 0.25) * math.pi


def bessel_j(order: int, x: Formula) -> Formula:
    size = abs(x)
    small, large = size.at_most(EDGE), size.at_least(EDGE)
    near = chebyshev(small, 1e-6, EDGE, _j_fit(order))
    near = near if order == 0 else near * small
    p, q, angle = _phase(order, large)
    far = (2 / (math.pi * large)).of("sqrt") * (p * angle.of("cos") - q * angle.of("sin"))
    found = (size > EDGE).choose(far, near)
    return found if order == 0 else found * x.of("sign")


def bessel_y(order: int, x: Formula) -> Formula:
    small, large = x.at_most(EDGE).at_least(1e-6), x.at_least(EDGE)
    near = chebyshev(small, 1e-6, EDGE, _y_fit(order))
    near = near if order == 0 else near * small - 2 / (math.pi * small)
    near = near + (small * 0.5).of("log") * bessel_j(order, small) * (2 / math.pi)
    p, q, angle = _phase(order, large)
    far = (2 / (math.pi * large)).of("sqrt") * (p * angle.of("sin") + q * angle.of("cos"))
    found = (x > EDGE).choose(far, near)
    return x.equals(0.0).choose(-math.inf, (x < 0.0).choose(math.nan, found))


def spherical_j0(x: Formula) -> Formula:
    """Return sin x / x, by its series near 0."""
    small = abs(x) < 0.5
    square = x * x
    near = polynomial(square, [(-1) ** k / math.factorial(2 * k + 1) for k in range(6)])
    return small.choose(near, x.of("sin") / small.choose(1.0, x))


# ---- Chebyshev's polynomials --------------------------------------------------------------------------------------------------------


def _angles(x: Formula) -> tuple[Formula, Formula]:
    """t with cos t = x where |x| <= 1, and t with cosh t = |x| elsewhere."""
    return x.at_least(-1.0).at_most(1.0).of("acos"), abs(x).at_least(1.0).of("acosh")


def _truncated(n: Formula) -> Formula:
    return (n < 0.0).choose(n.of("ceil"), n.of("floor"))


def _odd_sign(x: Formula, n: Formula) -> Formula:
    """-1 where x is negative and n odd."""
    odd = (n - (n * 0.5).of("floor") * 2.0).equals(1.0)
    return ((x < 0.0) & odd).choose(-1.0, x * 0.0 + 1.0)


def chebyshev_t(x: Formula, n: Formula) -> Formula:
    """Return cos(n t), or cosh(n t) with a sign."""
    inner, outer = _angles(x)
    found = (abs(x) <= 1.0).choose((n * inner).of("cos"), (n * outer).of("cosh") * _odd_sign(x, n))
    return (n < 0.0).choose(0.0, found)


def chebyshev_u(x: Formula, n: Formula) -> Formula:
    """Return sin((n + 1) t) / sin t, n + 1 at 1."""
    inner, outer = _angles(x)
    edge = abs(x).equals(1.0)
    inside = ((n + 1.0) * inner).of("sin") / edge.choose(1.0, inner.of("sin"))
    beyond = ((n + 1.0) * outer).of("sinh") / (abs(x) > 1.0).choose(outer, 1.0).of("sinh")
    found = edge.choose((n + 1.0) * _odd_sign(x, n), (abs(x) <= 1.0).choose(inside, beyond * _odd_sign(x, n)))
    return (n < 0.0).choose(0.0, found)


def chebyshev_v(x: Formula, n: Formula) -> Formula:
    """Return U of n less U of n - 1."""
    return (n < 0.0).choose(0.0, chebyshev_u(x, n) - chebyshev_u(x, n - 1.0))


def chebyshev_w(x: Formula, n: Formula) -> Formula:
    """Return U of n plus U of n - 1."""
    return (n < 0.0).choose(0.0, chebyshev_u(x, n) + chebyshev_u(x, n - 1.0))


def _rows(name: str, function: Callable[[Formula, Formula], Formula]) -> dict[str, Row]:
    """Return rows for a polynomial and its shifted form, with x or n as numbers too."""
    plain = row_of(lambda x, n: function(x, _truncated(n)))
    shifted = row_of(lambda x, n: function(x * 2.0 - 1.0, _truncated(n)))
    kinds = ("default", "x_scalar", "n_scalar")
    return {
        **{f"aten.special_chebyshev_polynomial_{name}.{kind}": plain for kind in kinds},
        **{f"aten.special_shifted_chebyshev_polynomial_{name}.{kind}": shifted for kind in kinds},
    }


ROWS: Rows = {
    "aten.special_bessel_j0.default": row_of(lambda x: bessel_j(0, x)),
    "aten.special_bessel_j1.default": row_of(lambda x: bessel_j(1, x)),
    "aten.special_bessel_y0.default": row_of(lambda x: bessel_y(0, x)),
    "aten.special_bessel_y1.default": row_of(lambda x: bessel_y(1, x)),
    "aten.special_spherical_bessel_j0.default": row_of(spherical_j0),
    **_rows("t", chebyshev_t),
    **_rows("u", chebyshev_u),
    **_rows("v", chebyshev_v),
    **_rows("w", chebyshev_w),
}
