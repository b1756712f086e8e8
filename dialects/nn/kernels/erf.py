"""The error function and gelu, to the last bit that float32 and float64 hold.

numpy has no erf.  W. J. Cody, "Rational Chebyshev approximation for the error function", Math. Comp. 23 (1969), 631-637;
coefficients of the SPECFUN routine CALERF.  Everything is computed in float64, in pieces that stay in a core's cache.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.nn.kernels import KERNELS

_PIECE = 16384
"""Elements computed together: a few float64 arrays of this size fit the L2 cache."""

_SMALL, _LARGE, _ONE = 0.46875, 4.0, 6.0
"""|x| up to _SMALL: rational in x^2; to _LARGE: exp(-x^2) * rational in |x|; to _ONE: rational in 1 / x^2; beyond: erf is 1 in float64."""

_SMALL_TOP = (1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2, 3.77485237685302021e2, 3.20937758913846947e3)
_SMALL_BOTTOM = (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3)
_MIDDLE_TOP = (
    2.15311535474403846e-8,
    5.64188496988670089e-1,
    8.88314979438837594e0,
    6.61191906371416295e1,
    2.98635138197400131e2,
    8.81952221241769090e2,
    1.71204761263407058e3,
    2.05107837782607147e3,
    1.23033935479799725e3,
)
_MIDDLE_BOTTOM = (
    1.0,
    1.57449261107098347e1,
    1.17693950891312499e2,
    5.37181101862009858e2,
    1.62138957456669019e3,
    3.29079923573345963e3,
    4.36261909014324716e3,
    3.43936767414372164e3,
    1.23033935480374942e3,
)
_LARGE_TOP = (
    1.63153871373020978e-2,
    3.05326634961232344e-1,
    3.60344899949804439e-1,
    1.25781726111229246e-1,
    1.60837851487422766e-2,
    6.58749161529837803e-4,
)
_LARGE_BOTTOM = (1.0, 2.56852019228982242e0, 1.87295284992346725e0, 5.27905102951428412e-1, 6.05183413124413191e-2, 2.33520497626869185e-3)


@KERNELS.rule("erf")
def erf(x: NDArray) -> NDArray:
    """2 / sqrt(pi) * integral of exp(-t^2) from 0 to x."""
    return _by_pieces(_erf, x)


@KERNELS.rule("gelu")
def gelu(x: NDArray, *, approximate: str = "none") -> NDArray:
    """x * Phi(x), Phi by erf or by tanh."""
    if approximate == "none":
        return _by_pieces(_gelu, x)
    return gelu_tanh(x)


@KERNELS.rule("gelu_tanh")
def gelu_tanh(x: NDArray) -> NDArray:
    """x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2."""
    inner = (x + 0.044715 * (x * x * x)) * float(np.sqrt(2 / np.pi))
    return 0.5 * x * (1 + np.tanh(inner))


def _by_pieces(function: Callable[[NDArray], NDArray], x: NDArray) -> NDArray:
    """function(x) piece by piece in float64, rounded once to x's dtype."""
    flat = np.ascontiguousarray(x).reshape(-1)
    result = np.empty_like(flat)
    for start in range(0, flat.size, _PIECE):
        result[start : start + _PIECE] = function(flat[start : start + _PIECE].astype(np.float64))
    return result.reshape(x.shape)


def _gelu(x: NDArray) -> NDArray:
    phi = _erf(x * np.sqrt(0.5))
    phi += 1.0
    phi *= 0.5
    phi *= x
    return phi


def _erf(x: NDArray) -> NDArray:
    """erf of a float64 vector."""
    size = np.abs(x)
    result = np.where(size >= _LARGE, 1.0, size)  # NaN stays
    small = np.flatnonzero(size <= _SMALL)
    middle = np.flatnonzero((size > _SMALL) & (size < _LARGE))
    large = np.flatnonzero((size >= _LARGE) & (size < _ONE))
    result[small] = _erf_small(size[small])
    result[middle] = _erf_middle(size[middle])
    result[large] = _erf_large(size[large])
    return np.copysign(result, x, out=result)


def _erf_small(x: NDArray) -> NDArray:
    return x * _rational(x * x, _SMALL_TOP, _SMALL_BOTTOM)


def _erf_middle(x: NDArray) -> NDArray:
    return 1.0 - np.exp(-x * x) * _rational(x, _MIDDLE_TOP, _MIDDLE_BOTTOM)


def _erf_large(x: NDArray) -> NDArray:
    z = 1.0 / (x * x)
    tail = 1.0 / np.sqrt(np.pi) - z * _rational(z, _LARGE_TOP, _LARGE_BOTTOM)
    return 1.0 - np.exp(-x * x) * tail / x


def _rational(x: NDArray, top: tuple[float, ...], bottom: tuple[float, ...]) -> NDArray:
    """Quotient of two polynomials; coefficients from the highest power down."""
    return _polynomial(x, top) / _polynomial(x, bottom)


def _polynomial(x: NDArray, coefficients: tuple[float, ...]) -> NDArray:
    value = x * coefficients[0]
    value += coefficients[1]
    for coefficient in coefficients[2:]:
        value *= x
        value += coefficient
    return value
