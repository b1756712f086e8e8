"""Gradient rules: what they take, how they are registered, and what many of them share.

A rule gives the cotangents of an op's operands from those of its results, in nn ops.  It stands in the file of the op's stem; ops that
have no gradient are registered there, too, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NoReturn, TypeAlias

from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.locations import where
from ttc.dialects.core.records import record
from ttc.dialects.core.rule_tables import RuleTable
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.making import OpMaker, zeros

Ints: TypeAlias = tuple[int, ...]
Cotangents: TypeAlias = "Sequence[SSAValue | None]"


class NoGradient(Error):
    """E0506: an op has no gradient, or not with its attributes or shapes."""


@record(eq=False, slots=True)
class GradientSite:
    """An op at which a gradient is taken.

    Args:
        name: of the op: `nn.softmax`.
        operands: its operands in the order of their declaration, variadic ones spread; None for an absent one.
        results: its results.
        attrs: its attributes as plain values.
        cotangents: of each result, of its shape and dtype; None where it is 0.  One at least is not.
        wanted: whether the cotangent of an operand is asked for; only those of floating point are.
        op: the op itself; None where only its parts are at hand.
    """

    name: str
    operands: tuple[SSAValue | None, ...]
    results: tuple[SSAValue, ...]
    attrs: dict[str, Any]
    cotangents: tuple[SSAValue | None, ...]
    wanted: tuple[bool, ...]
    op: NNOp | None = None

    @property
    def dy(self) -> SSAValue:
        """The cotangent of the op's only result."""
        (found,) = self.cotangents
        return found  # pyright: ignore[reportReturnType]: one at least is not None

    @property
    def y(self) -> SSAValue:
        """The first result of the op."""
        return self.results[0]

    def operand(self, index: int) -> SSAValue:
        """Return an operand that the op always has."""
        return self.operands[index]  # pyright: ignore[reportReturnType]

    def refuse(self, b: OpMaker, reason: str) -> NoReturn:
        """Raise E0506 at the location: the op has no gradient with these attributes or shapes."""
        raise NoGradient("E0506", f"{self.name} has no gradient: {reason}", where=where(self.op) if self.op else b.place_name)


Rule: TypeAlias = Callable[[OpMaker, GradientSite], Cotangents]
"""Gives the cotangent of each operand; None where it is 0, or not wanted."""

GRADIENTS: RuleTable[Rule] = RuleTable("gradient rule", "ttc.dialects.nn.gradients")
"""Gradient rules by the full name of the op, such as `nn.softmax`."""
gradient, no_gradient = GRADIENTS.rule, GRADIENTS.refuse


# ---- what rules share --------------------------------------------------------------------------------------------------------------


def unbroadcast(b: OpMaker, dy: SSAValue, like: SSAValue) -> SSAValue:
    """Return the cotangent of an operand that was broadcast: the sum over what it was repeated along."""
    return summed_to(b, dy, b.shape(like))


def summed_to(b: OpMaker, dy: SSAValue, shape: Ints) -> SSAValue:
    """Return the sum over the dimensions along which a tensor of that shape is broadcast to that of dy."""
    have = b.shape(dy)
    if have == shape:
        return dy
    new = len(have) - len(shape)
    axes = (*range(new), *(new + i for i, (size, wide) in enumerate(zip(shape, have[new:], strict=True)) if size != wide))
    return b.reshape(b.nn("reduce_sum", dy, axes=axes, keepdims=False), *shape) if axes else b.reshape(dy, *shape)


def cotangent(b: OpMaker, site: GradientSite, index: int) -> SSAValue:
    """Return the cotangent of a result, zeros where it has none."""
    found = site.cotangents[index]
    return zeros(b, site.results[index]) if found is None else found


def total(b: OpMaker, x: SSAValue, axes: Ints, *, keepdims: bool = False) -> SSAValue:
    """Return the sum over some axes."""
    return b.nn("reduce_sum", x, axes=axes, keepdims=keepdims) if axes else x


def mean(b: OpMaker, x: SSAValue, axes: Ints) -> SSAValue:
    """Return the mean over some axes, which stay with size 1."""
    return b.nn("reduce_mean", x, axes=axes, keepdims=True)


def product(b: OpMaker, x: SSAValue, y: SSAValue, *, transpose_a: bool = False, transpose_b: bool = False) -> SSAValue:
    """Return the product of matrices, of which the last two dimensions may be exchanged first."""
    return b.nn("matmul", x, y, None, transpose_a=transpose_a, transpose_b=transpose_b)


def transposed(b: OpMaker, x: SSAValue) -> SSAValue:
    """Return the last two dimensions exchanged."""
    rank = b.rank(x)
    return b.nn("transpose", x, perm=(*range(rank - 2), rank - 1, rank - 2))


def padded(b: OpMaker, x: SSAValue, axis: int, before: int, after: int, value: float = 0.0) -> SSAValue:
    """x with margins of one number along one dimension."""
    if before == after == 0:
        return x
    rank = b.rank(x)
    margins = [tuple(n if i == axis else 0 for i in range(rank)) for n in (before, after)]
    return b.nn("pad", x, before=margins[0], after=margins[1], value=value, mode="constant")


def reversed_along(b: OpMaker, x: SSAValue, axis: int) -> SSAValue:
    """Return the elements of one dimension in reverse order."""
    shape = b.shape(x)
    if shape[axis] < 2:
        return x
    starts = tuple(d - 1 if i == axis else 0 for i, d in enumerate(shape))
    steps = tuple(-1 if i == axis else 1 for i in range(len(shape)))
    return b.nn("slice", x, starts=starts, sizes=shape, steps=steps)


def elements(shape: Sequence[int]) -> int:
    """Return the number of elements of a shape."""
    return prod(shape)
