"""Formulas over nn values: arithmetic as Python writes it, for functions that nn has no op for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ttc.dialects.core.records import record
from ttc.importers.torch.builder import TorchBuilder

FLOAT64 = np.dtype(np.float64)


@record(eq=False)
class Formula:
    """A value of floating point under its builder; numbers beside it take its dtype."""

    b: TorchBuilder
    value: SSAValue

    def _with(self, op: str, other: Term, *, swapped: bool = False) -> Formula:
        right = other.value if isinstance(other, Formula) else self.b.scalar(other, self.value)
        operands = (right, self.value) if swapped else (self.value, right)
        return Formula(self.b, self.b.nn(op, *operands))

    def __add__(self, other: Term) -> Formula:
        return self._with("add", other)

    def __radd__(self, other: float) -> Formula:
        return self._with("add", other)

    def __sub__(self, other: Term) -> Formula:
        return self._with("sub", other)

    def __rsub__(self, other: float) -> Formula:
        return self._with("sub", other, swapped=True)

    def __mul__(self, other: Term) -> Formula:
        return self._with("mul", other)

    def __rmul__(self, other: float) -> Formula:
        return self._with("mul", other)

    def __truediv__(self, other: Term) -> Formula:
        return self._with("div", other)

    def __rtruediv__(self, other: float) -> Formula:
        return self._with("div", other, swapped=True)

    def __pow__(self, other: Term) -> Formula:
        return self._with("pow", other)

    def __rpow__(self, other: float) -> Formula:
        return self._with("pow", other, swapped=True)

    def __neg__(self) -> Formula:
        return self.of("neg")

    def __abs__(self) -> Formula:
        return self.of("abs")

    def __lt__(self, other: Term) -> Truth:
        return Truth(self.b, self._with("less", other).value)

    def __le__(self, other: Term) -> Truth:
        return Truth(self.b, self._with("less_equal", other).value)

    def __gt__(self, other: Term) -> Truth:
        return Truth(self.b, self._with("greater", other).value)

    def equals(self, other: Term) -> Truth:
        """Whether both are the same number."""
        return Truth(self.b, self._with("equal", other).value)

    def of(self, op: str) -> Formula:
        """The nn op of that name of it."""
        return Formula(self.b, self.b.nn(op, self.value))

    def at_least(self, other: Term) -> Formula:
        return self._with("maximum", other)

    def at_most(self, other: Term) -> Formula:
        return self._with("minimum", other)


Term: TypeAlias = Formula | float


@record(eq=False)
class Truth:
    """A condition."""

    b: TorchBuilder
    value: SSAValue

    def __and__(self, other: Truth) -> Truth:
        return Truth(self.b, self.b.nn("and", self.value, other.value))

    def __or__(self, other: Truth) -> Truth:
        return Truth(self.b, self.b.nn("or", self.value, other.value))

    def choose(self, yes: Term, no: Term) -> Formula:
        """One of two formulas; one of them at least is no plain number."""
        like = yes if isinstance(yes, Formula) else no
        assert isinstance(like, Formula)
        found = (t.value if isinstance(t, Formula) else self.b.scalar(t, like.value) for t in (yes, no))
        return Formula(self.b, self.b.nn("where", self.value, *found))


def polynomial(x: Formula, coefficients: Sequence[float]) -> Formula:
    """c0 + c1 x + c2 x^2 + ..., by Horner's rule."""
    found = x * float(coefficients[-1])
    for c in reversed(coefficients[1:-1]):
        found = (found + float(c)) * x
    return found + float(coefficients[0])


def chebyshev(x: Formula, low: float, high: float, coefficients: Sequence[float]) -> Formula:
    """The sum of c_k T_k of x brought from [low, high] to [-1, 1], by Clenshaw's rule."""
    t = (x - (low + high) / 2) * (2 / (high - low))
    twice = t * 2.0
    last, before = t * 0.0, t * 0.0
    for c in reversed(coefficients[1:]):
        last, before = twice * last - before + float(c), last
    return t * last - before + float(coefficients[0])


def fitted(function: Callable[[NDArray], NDArray], low: float, high: float, count: int = 24) -> tuple[float, ...]:
    """Coefficients of `chebyshev` that meet the function at so many points of [low, high]."""
    points = np.cos(np.pi * (np.arange(count) + 0.5) / count)
    values = function((low + high) / 2 + points * (high - low) / 2)
    table = np.cos(np.outer(np.arange(count), np.arccos(points)))
    found = 2 / count * (table @ values)
    found[0] /= 2
    return tuple(float(c) for c in found)


def row_of(function: Callable[..., Formula]) -> Callable[..., SSAValue]:
    """A mapping of an elementwise function that is computed in float64, of promoted operands."""

    def row(b: TorchBuilder, *operands: SSAValue | float) -> SSAValue:
        dtype = b.result
        found = function(*(Formula(b, b.operand(v, FLOAT64)) for v in operands))
        return b.cast(found.value, dtype)

    return row
