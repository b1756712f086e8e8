"""Winograd's way to convolve with filters of 3 taps: constants, and linear combinations of vectors.

m outputs y of n = m + 2 inputs d and a filter g: y = at ((g_matrix g) * (bt d)), n multiplications in place of 3 m; in two dimensions the
same along both.  The gradient of the filter has 3 outputs of the same inputs, and m cotangents in the filter's place.
Source: A. Lavin, S. Gray, Fast Algorithms for Convolutional Neural Networks, 2015; matrices after Toom and Cook, from points that they
evaluate polynomials at.

Errors against float64, in multiples of those of direct sums in float32 (root mean square, channels 32 to 512): m = 2 with points 0, 1, -1:
1.8 to 2.0; m = 4 with points 0, +-1, +-2: 11 to 12, with 0, +-0.7, +-1.5: 5.2 to 5.7.  So m = 2 serves precision `float32`, m = 4 `high`.
In gradients of filters (images of 4 to 28 pixels a side, 8 of them): m = 2: 1.0 to 1.5, m = 3: 3.4 to 4.9, m = 4: 2.3 to 3.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

Matrix: TypeAlias = tuple[tuple[float, ...], ...]

_POINTS = {
    4: (Fraction(0), Fraction(1), Fraction(-1)),
    6: (Fraction(0), Fraction(7, 10), Fraction(-7, 10), Fraction(3, 2), Fraction(-3, 2)),
}
"""By number of inputs; the last of the polynomials' points is at infinity."""
TAPS = 3


@dataclass(frozen=True)
class Matrices:
    """The matrices of Winograd's way: at[outputs, n], g[n, taps], bt[n, n]."""

    at: Matrix
    g: Matrix
    bt: Matrix


@cache
def matrices(outputs: int, taps: int = TAPS) -> Matrices:
    """Return the matrices for 4 or 6 inputs, which are one fewer than outputs and taps; `bt` depends on their number alone."""
    size = outputs + taps - 1
    points = _POINTS[size]
    at = [[*(p**i for p in points), Fraction(int(i == outputs - 1))] for i in range(outputs)]
    g = [[p**i / _others(points, p) for i in range(taps)] for p in points]
    g.append([Fraction(0)] * (taps - 1) + [Fraction(1)])
    bt = [[*_polynomial([q for q in points if q != p]), Fraction(0)] for p in points]
    bt.append(_polynomial(points))
    for row_g, row_b in zip(g, bt, strict=True):
        if all(x <= 0 for x in row_g):
            row_g[:], row_b[:] = [-x for x in row_g], [-x for x in row_b]
    assert len(bt) == size
    return Matrices(*(tuple(tuple(float(x) for x in row) for row in matrix) for matrix in (at, g, bt)))


def _others(points: Sequence[Fraction], point: Fraction) -> Fraction:
    product = Fraction(1)
    for other in points:
        product *= 1 if other == point else point - other
    return product


def _polynomial(roots: Sequence[Fraction]) -> list[Fraction]:
    """Coefficients, the constant one first, of the polynomial with these roots."""
    found = [Fraction(1)]
    for root in roots:
        found = [a - root * b for a, b in zip([Fraction(0), *found], [*found, Fraction(0)], strict=True)]
    return found


def combined(f: Writer, matrix: Matrix, vectors: Sequence[Value]) -> list[Value]:
    """Return matrix @ vectors; rows that differ only in the signs of some columns share two sums."""
    found: dict[int, Value] = {}
    for i, row in enumerate(matrix):
        if i in found:
            continue
        partner = next((j for j in range(i + 1, len(matrix)) if j not in found and _is_mirror(row, matrix[j])), None)
        if partner is None:
            found[i] = _sum(f, row, vectors)
            continue
        other = matrix[partner]
        same = _sum(f, [a if a == b else 0.0 for a, b in zip(row, other, strict=True)], vectors)
        opposite = _sum(f, [0.0 if a == b else a for a, b in zip(row, other, strict=True)], vectors)
        found[i], found[partner] = same + opposite, same - opposite
    return [found[i] for i in range(len(matrix))]


def _is_mirror(a: Sequence[float], b: Sequence[float]) -> bool:
    """Return whether they agree but for signs, in at least two columns without and one with a change of sign, or the other way round."""
    if any(abs(x) != abs(y) for x, y in zip(a, b, strict=True)):
        return False
    same = sum(x == y != 0 for x, y in zip(a, b, strict=True))
    opposite = sum(x == -y != 0 for x, y in zip(a, b, strict=True))
    return min(same, opposite) >= 1 and same + opposite >= 3


def _sum(f: Writer, row: Sequence[float], vectors: Sequence[Value]) -> Value:
    """Return the vectors times their coefficients; those with coefficients of one come first."""
    terms = sorted(((c, v) for c, v in zip(row, vectors, strict=True) if c != 0), key=lambda term: (abs(term[0]) != 1, term[0] < 0))
    (first, total), *rest = terms
    if first != 1:
        total = -total if first == -1 else total * first
    for c, v in rest:
        total = total + v if c == 1 else total - v if c == -1 else f.fma(v, c, total)
    return total
