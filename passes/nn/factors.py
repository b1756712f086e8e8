"""Products that a value is a factor of, in any order and association, with divisions by constants."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.nn.binary import DivOp, MulOp
from ttc.passes.nn.match import constant_scalar, either_way, owner, sole_user
from ttc.passes.nn.polynomial import Polynomial, polynomial, product, same

MAX_FACTORS = 3


def product_with(
    value: SSAValue, wanted: Polynomial, accepts: Callable[[SSAValue], bool], weights: WeightStore
) -> tuple[SSAValue, Operation] | None:
    """Return x and the op that completes the product of a value and a polynomial of x; None if no op does.

    Args:
        value: a factor; all products up to the last are read once.
        wanted: the polynomial that the other factors are.
        accepts: whether x is the one looked for.
    """
    factors = list[SSAValue]()
    divisor = 1.0
    for _ in range(MAX_FACTORS):
        user = sole_user(value)
        if isinstance(user, MulOp):
            factors.append(next(other for x, other in either_way(user) if x is value))
        elif isinstance(user, DivOp) and user.operands[0] is value and constant_scalar(user.operands[1], weights):
            divisor *= constant_scalar(user.operands[1], weights) or 1.0
        else:
            return None
        value = user.results[0]
        for x in _candidates(factors):
            if _is_product(factors, x, divisor, wanted, weights) and accepts(x):
                return x, user
    return None


def _candidates(factors: list[SSAValue]) -> Iterator[SSAValue]:
    """Yield what x may be: a factor, or an operand of one."""
    for factor in factors:
        yield factor
        op = owner(factor, MulOp, DivOp)
        if op is not None:
            yield from op.operands


def _is_product(factors: list[SSAValue], x: SSAValue, divisor: float, wanted: Polynomial, weights: WeightStore) -> bool:
    found: Polynomial | None = {0: 1.0 / divisor}
    for factor in factors:
        part = polynomial(factor, x, weights)
        found = product(found, part) if found is not None and part is not None else None
    return found is not None and same(found, wanted)
