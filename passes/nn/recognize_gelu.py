"""The pass that recognizes GELU in what exporters make of it."""

from __future__ import annotations

from math import pi, sqrt
from typing import ClassVar

from xdsl.ir import Operation

from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.core.records import record
from ttc.dialects.nn.activation import GeluOp, TanhOp
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.binary import AddOp
from ttc.dialects.nn.unary import ErfOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.factors import product_with
from ttc.passes.nn.match import either_way, is_scalar, sole_user, sweep_entries
from ttc.passes.nn.polynomial import Polynomial, is_polynomial

ARGUMENTS: dict[type[NNOp], tuple[str, Polynomial]] = {
    ErfOp: ("none", {1: sqrt(1 / 2)}),
    TanhOp: ("tanh", {1: sqrt(2 / pi), 3: 0.044715 * sqrt(2 / pi)}),
}
"""Which GELU a function inside is part of, and of what polynomial of x the function is taken, by the function."""


@record
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
    found = product_with(add.results[0], {1: 0.5}, lambda x: is_polynomial(inner.operands[0], x, wanted, weights), weights)
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
