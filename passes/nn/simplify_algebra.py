"""Arithmetic with constants in fewer ops."""

from __future__ import annotations

import math
from typing import ClassVar, TypeAlias

from xdsl.ir import SSAValue

from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.core.records import record
from ttc.dialects.nn.binary import AddOp, DivOp, MulOp, SubOp
from ttc.dialects.nn.unary import NegOp, ReciprocalOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.match import KnownConstants, constant_scalar, either_way, owner, single_use, spec, sweep_entries

Commutative: TypeAlias = AddOp | MulOp


@record
class SimplifyAlgebra(Pass):
    """Subtract by adding, divide by multiplying where that is exact, and apply constants that follow each other at once.

    Only floating point: the sum or product of two constants is rounded before it meets x, so results differ in the last place.

    Args:
        exact_division: divide by powers of two alone; otherwise by any number, at the cost of half a unit in the last place.

    Before:
        (%x: tensor<4x8xf32>)
        %b = ttc.constant() {value = #ttc.weight<"b", tensor<8xf32>>} : () -> tensor<8xf32>
        %c = ttc.constant() {value = #ttc.literal<[4.0], tensor<f32>>} : () -> tensor<f32>
        %s = ttc.constant() {value = #ttc.weight<"s", tensor<8xf32>>} : () -> tensor<8xf32>
        %0 = nn.sub(%x, %b) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
        %1 = nn.div(%0, %c) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
        %2 = nn.mul(%1, %s) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
        return %2 : tensor<4x8xf32>
    After:
        (%x: tensor<4x8xf32>)
        %b = ttc.constant() {value = #ttc.weight<"b", tensor<8xf32>>} : () -> tensor<8xf32>
        %c = ttc.constant() {value = #ttc.literal<[4.0], tensor<f32>>} : () -> tensor<f32>
        %s = ttc.constant() {value = #ttc.weight<"s", tensor<8xf32>>} : () -> tensor<8xf32>
        %n = nn.neg(%b) : (tensor<8xf32>) -> tensor<8xf32>
        %0 = nn.add(%x, %n) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
        %r = nn.reciprocal(%c) : (tensor<f32>) -> tensor<f32>
        %m = nn.mul(%r, %s) : (tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
        %2 = nn.mul(%0, %m) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
        return %2 : tensor<4x8xf32>
    Missed:
        a sum that cancels or a product that overflows or vanishes; a divisor that is no power of two.
    """

    name: ClassVar[str] = "simplify-algebra"
    exact_division: bool = True

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        weights, constants = unit.weights, KnownConstants()
        sweep_entries(
            unit,
            rewriter,
            {SubOp: lambda op: _negate(op, constants, rewriter), DivOp: lambda op: self._invert(op, constants, weights, rewriter)},
        )
        sweep_entries(unit, rewriter, dict.fromkeys((MulOp, AddOp), lambda op: _combine(op, constants, weights, rewriter)))

    def _invert(self, op: DivOp, constants: KnownConstants, weights: WeightStore, rewriter: Rewriter) -> None:
        """x / c: x * (1 / c)."""
        x, divisor = op.operands
        number = constant_scalar(divisor, weights)
        if number is None or x in constants or not _is_float(op):
            return
        if self.exact_division and not _is_power_of_two(number):
            rewriter.missed(op, f"dividing by {number:g} is not multiplying by a number exactly")
        elif number != 0.0 and math.isfinite(1.0 / number) and rewriter.allow("divide-by-multiplying", op):
            inverse = rewriter.build(op, ReciprocalOp, divisor).results[0]
            new = rewriter.build(op, MulOp, x, inverse)
            rewriter.applied(new, "a division is a multiplication")
            rewriter.replace(op, new.results[0])


def _is_float(op: AddOp | SubOp | MulOp | DivOp) -> bool:
    return spec(op.results[0]).dtype.kind == "f"


def _is_power_of_two(number: float) -> bool:
    """Return whether a number, and its inverse, are powers of two well within float16."""
    return math.isfinite(number) and abs(math.frexp(number)[0]) == 0.5 and 2.0**-14 <= abs(number) <= 2.0**14


def _negate(op: SubOp, constants: KnownConstants, rewriter: Rewriter) -> None:
    """x - c: x + (-c)."""
    x, constant = op.operands
    if constant not in constants or x in constants or not _is_float(op) or not rewriter.allow("subtract-by-adding", op):
        return
    new = rewriter.build(op, AddOp, x, rewriter.build(op, NegOp, constant).results[0])
    rewriter.applied(new, "a subtraction is an addition")
    rewriter.replace(op, new.results[0])


def _combine(op: Commutative, constants: KnownConstants, weights: WeightStore, rewriter: Rewriter) -> None:
    """(x + a) + b: x + (a + b), and the same for products."""
    for value, outer in either_way(op):
        inner = owner(value, type(op))
        if inner is None or outer not in constants or value in constants or not _is_float(op) or not single_use(value):
            continue
        x, first = next(((x, c) for x, c in either_way(inner) if c in constants), (None, None))
        if x is None or first is None or x in constants:
            continue
        if not _is_safe(op, first, outer, weights):
            rewriter.missed(op, f"constants of two {op.name} are not combined: the result would lose digits")
        elif rewriter.allow("combine-constants", op):
            constant = rewriter.build(op, type(op), first, outer, sources=(inner, op)).results[0]
            new = rewriter.build(op, type(op), x, constant, sources=(inner, op))
            rewriter.applied(new, f"constants of two {op.name} combined")
            rewriter.replace(op, new.results[0])
            rewriter.erase_dead(inner)
        return


def _is_safe(op: Commutative, first: SSAValue, second: SSAValue, weights: WeightStore) -> bool:
    """Whether combined constants keep what the two gave: no cancellation (by which numbers are rounded), no overflow, nothing vanishes.

    Weights are taken to be of ordinary size.
    """
    a, b = constant_scalar(first, weights), constant_scalar(second, weights)
    if isinstance(op, AddOp):
        return a is None or b is None or (a >= 0) == (b >= 0)
    numbers = [n for n in (a, b) if n is not None]
    return all(1e-4 <= abs(n) <= 1e4 for n in numbers)
