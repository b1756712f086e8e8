"""GELU in what exporters make of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import pi, sqrt
from typing import ClassVar

from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.weights import WeightStore
from ttc.dialects.nn.activation import GeluOp, TanhOp
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.binary import AddOp, DivOp, MulOp
from ttc.dialects.nn.unary import ErfOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.match import either_way, is_scalar, owner, sole_user, sweep_entries
from ttc.passes.nn.polynomial import Polynomial, is_polynomial, polynomial, product, same

ARGUMENTS: dict[type[NNOp], tuple[str, Polynomial]] = {
    ErfOp: ("none", {1: sqrt(1 / 2)}),
    TanhOp: ("tanh", {1: sqrt(2 / pi), 3: 0.044715 * sqrt(2 / pi)}),
}
"""By the function inside: which GELU it is, and of what polynomial of x the function is taken."""


@dataclass(frozen=True)
class RecognizeGelu(Pass):
    """Find x * (1 + erf(x / sqrt 2)) / 2, and its tanh approximation, in any order of their factors.

    Before:
        (%x: tensor<4xf32>)
        %r = ttc.constant() {value = #ttc.literal<[1.41421354], tensor<f32>>} : () -> tensor<f32>
        %o = ttc.constant() {value = #ttc.literal<[1.0], tensor<f32>>} : () -> tensor<f32>
        %h = ttc.constant() {value = #ttc.literal<[0.5], tensor<f32>>} : () -> tensor<f32>
        %0 = nn.div(%x, %r) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
        %1 = nn.erf(%0) : (tensor<4xf32>) -> tensor<4xf32>
        %2 = nn.add(%1, %o) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
        %3 = nn.mul(%h, %2) : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
        %4 = nn.mul(%x, %3) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        return %4 : tensor<4xf32>
    After:
        (%x: tensor<4xf32>)
        %4 = nn.gelu(%x) {approximate = "none"} : (tensor<4xf32>) -> tensor<4xf32>
        return %4 : tensor<4xf32>
    Missed:
        an inner result has another user; a constant differs by more than a thousandth.
    """

    name: ClassVar[str] = "recognize-gelu"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        sweep_entries(unit, rewriter, {kind: lambda op: _recognize(op, unit.weights, rewriter) for kind in ARGUMENTS})


def _recognize(inner: NNOp, weights: WeightStore, rewriter: Rewriter) -> None:
    add = sole_user(inner.results[0])
    if not isinstance(add, AddOp) or not any(x is inner.results[0] and is_scalar(one, 1.0, weights) for x, one in either_way(add)):
        return
    approximate, wanted = ARGUMENTS[type(inner)]
    found = _product(add, inner, wanted, weights)
    if found is None:
        rewriter.missed(inner, f"1 + {inner.name} is no part of a gelu that has no other users")
        return
    x, root = found
    if not rewriter.allow("recognize-gelu", root):
        return
    new = rewriter.build(root, GeluOp, x, sources=(inner, add, root), approximate=approximate)
    rewriter.applied(new, f"gelu recognized in its {'erf' if approximate == 'none' else 'tanh'} form")
    feeding = [v.owner for v in root.operands]
    rewriter.replace(root, new.results[0])
    for op in feeding:
        if isinstance(op, Operation):
            rewriter.erase_dead(op)


def _product(add: AddOp, inner: NNOp, argument: Polynomial, weights: WeightStore) -> tuple[SSAValue, Operation] | None:
    """x, and the op that multiplies 1 + inner by the last of x and 1/2."""
    value, factors = add.results[0], list[SSAValue]()
    divisor = 1.0
    for _ in range(3):
        user = sole_user(value)
        if isinstance(user, MulOp):
            factors.append(next(other for x, other in either_way(user) if x is value))
        elif isinstance(user, DivOp) and user.operands[0] is value and is_scalar(user.operands[1], 2.0, weights):
            divisor *= 2.0
        else:
            return None
        value = user.results[0]
        for x in _candidates(factors):
            if _is_half_x(factors, x, divisor, weights) and is_polynomial(inner.operands[0], x, argument, weights):
                return x, user
    return None


def _candidates(factors: list[SSAValue]) -> Iterator[SSAValue]:
    """What x may be: a factor, or an operand of one."""
    for factor in factors:
        yield factor
        op = owner(factor, MulOp, DivOp)
        if op is not None:
            yield from op.operands


def _is_half_x(factors: list[SSAValue], x: SSAValue, divisor: float, weights: WeightStore) -> bool:
    found: Polynomial | None = {0: 1.0 / divisor}
    for factor in factors:
        part = polynomial(factor, x, weights)
        found = product(found, part) if found is not None and part is not None else None
    return found is not None and same(found, {1: 0.5})
