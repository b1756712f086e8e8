"""Numpy semantics of hyperbolic functions and of the inverses of circular and hyperbolic ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def sinh(x: NDArray) -> NDArray:
    """(exp x - exp -x) / 2."""
    return np.sinh(x)


def cosh(x: NDArray) -> NDArray:
    """(exp x + exp -x) / 2."""
    return np.cosh(x)


def asin(x: NDArray) -> NDArray:
    """The angle in [-pi/2, pi/2] whose sine is x."""
    return np.arcsin(x)


def acos(x: NDArray) -> NDArray:
    """The angle in [0, pi] whose cosine is x."""
    return np.arccos(x)


def atan(x: NDArray) -> NDArray:
    """The angle in [-pi/2, pi/2] whose tangent is x."""
    return np.arctan(x)


def asinh(x: NDArray) -> NDArray:
    """The number whose hyperbolic sine is x."""
    return np.arcsinh(x)


def acosh(x: NDArray) -> NDArray:
    """The number at least 0 whose hyperbolic cosine is x."""
    return np.arccosh(x)


def atanh(x: NDArray) -> NDArray:
    """The number whose hyperbolic tangent is x."""
    return np.arctanh(x)
