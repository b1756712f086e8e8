"""Formulas over nn values: arithmetic as Python writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ttc.dialects.core.records import record

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from ttc.dialects.nn.making import OpMaker


@record(eq=False)
class Formula:
    """A value of floating point under its builder; numbers beside it take its dtype."""

    b: OpMaker
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

    def __ge__(self, other: Term) -> Truth:
        return Truth(self.b, self._with("greater_equal", other).value)

    def equals(self, other: Term) -> Truth:
        """Return whether both are the same number."""
        return Truth(self.b, self._with("equal", other).value)

    def of(self, op: str) -> Formula:
        """Return the formula that the nn op of that name makes of this one."""
        return Formula(self.b, self.b.nn(op, self.value))

    def at_least(self, other: Term) -> Formula:
        return self._with("maximum", other)

    def at_most(self, other: Term) -> Formula:
        return self._with("minimum", other)


Term: TypeAlias = Formula | float


@record(eq=False)
class Truth:
    """A condition of a formula: an elementwise truth value."""

    b: OpMaker
    value: SSAValue

    def __and__(self, other: Truth) -> Truth:
        return Truth(self.b, self.b.nn("and", self.value, other.value))

    def __or__(self, other: Truth) -> Truth:
        return Truth(self.b, self.b.nn("or", self.value, other.value))

    def choose(self, yes: Term, no: Term) -> Formula:
        """Return one of two formulas; one of them at least is no plain number."""
        like = yes if isinstance(yes, Formula) else no
        assert isinstance(like, Formula)
        found = (t.value if isinstance(t, Formula) else self.b.scalar(t, like.value) for t in (yes, no))
        return Formula(self.b, self.b.nn("where", self.value, *found))
