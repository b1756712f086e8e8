"""Polynomials and other series, for functions that nn has no op for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.nn.formulas import Formula
from ttc.importers.torch.builder import TorchBuilder

FLOAT64 = np.dtype(np.float64)


def polynomial(x: Formula, coefficients: Sequence[float]) -> Formula:
    """Return c0 + c1 x + c2 x^2 + ..., by Horner's rule."""
    found = x * float(coefficients[-1])
    for c in reversed(coefficients[1:-1]):
        found = (found + float(c)) * x
    return found + float(coefficients[0])


def chebyshev(x: Formula, low: float, high: float, coefficients: Sequence[float]) -> Formula:
    """Return the sum of c_k T_k of x brought from [low, high] to [-1, 1], by Clenshaw's rule."""
    t = (x - (low + high) / 2) * (2 / (high - low))
    twice = t * 2.0
    last, before = t * 0.0, t * 0.0
    for c in reversed(coefficients[1:]):
        last, before = twice * last - before + float(c), last
    return t * last - before + float(coefficients[0])


def fitted(function: Callable[[NDArray], NDArray], low: float, high: float, count: int = 24) -> tuple[float, ...]:
    """Return coefficients of `chebyshev` that meet the function at so many points of [low, high]."""
    points = np.cos(np.pi * (np.arange(count) + 0.5) / count)
    values = function((low + high) / 2 + points * (high - low) / 2)
    table = np.cos(np.outer(np.arange(count), np.arccos(points)))
    found = 2 / count * (table @ values)
    found[0] /= 2
    return tuple(float(c) for c in found)


def row_of(function: Callable[..., Formula]) -> Callable[..., SSAValue]:
    """Return a mapping of an elementwise function that is computed in float64, of promoted operands."""

    def row(b: TorchBuilder, *operands: SSAValue | float) -> SSAValue:
        dtype = b.result
        found = function(*(Formula(b, b.operand(v, FLOAT64)) for v in operands))
        return b.cast(found.value, dtype)

    return row
