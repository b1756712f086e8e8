"""Small expressions read as polynomials of one value, so that every order and association of their factors is one form."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.nn.binary import AddOp, DivOp, MulOp, PowOp, SubOp
from ttc.dialects.nn.unary import NegOp
from ttc.passes.nn.match import TOLERANCE, constant_scalar

Polynomial = dict[int, float]
"""A polynomial, as its coefficients by degree."""

MAX_DEGREE = 4
MAX_DEPTH = 6


def polynomial(value: SSAValue, x: SSAValue, weights: WeightStore, depth: int = MAX_DEPTH) -> Polynomial | None:
    """Return the value as a polynomial of x with constant coefficients; None if it is not one, or too deep to tell."""
    if value is x:
        return {1: 1.0}
    number = constant_scalar(value, weights)
    if number is not None:
        return {0: number}
    op = value.owner
    if depth == 0 or not isinstance(op, AddOp | SubOp | MulOp | DivOp | PowOp | NegOp):
        return None
    parts = [polynomial(operand, x, weights, depth - 1) for operand in op.operands]
    known = [part for part in parts if part is not None]
    return _combine(op, known) if len(known) == len(parts) else None


def is_polynomial(value: SSAValue, x: SSAValue, wanted: Polynomial, weights: WeightStore) -> bool:
    """Return whether the value is that polynomial of x, coefficients compared with a relative tolerance."""
    found = polynomial(value, x, weights)
    return found is not None and same(found, wanted)


def same(found: Polynomial, wanted: Polynomial) -> bool:
    """Return whether two polynomials agree within the tolerance; coefficients of zero do not count."""
    found = {degree: c for degree, c in found.items() if c != 0.0}
    if found.keys() != wanted.keys():
        return False
    return all(abs(found[degree] - c) <= TOLERANCE * abs(c) for degree, c in wanted.items())


def product(p: Polynomial, q: Polynomial) -> Polynomial | None:
    """Return the product of two polynomials; None above the highest degree of interest."""
    result: Polynomial = {}
    for i, a in p.items():
        for j, b in q.items():
            result[i + j] = result.get(i + j, 0.0) + a * b
    return result if max(result, default=0) <= MAX_DEGREE else None


def _combine(op: AddOp | SubOp | MulOp | DivOp | PowOp | NegOp, parts: list[Polynomial]) -> Polynomial | None:
    if isinstance(op, NegOp):
        return {degree: -c for degree, c in parts[0].items()}
    p, q = parts
    if isinstance(op, AddOp | SubOp):
        sign = 1.0 if isinstance(op, AddOp) else -1.0
        return {degree: p.get(degree, 0.0) + sign * q.get(degree, 0.0) for degree in {*p, *q}}
    if isinstance(op, MulOp):
        return product(p, q)
    number = q.get(0, 0.0) if q.keys() <= {0} else 0.0
    if isinstance(op, DivOp):
        return {degree: c / number for degree, c in p.items()} if number != 0.0 else None
    return _power(p, number)


def _power(p: Polynomial, exponent: float) -> Polynomial | None:
    if exponent not in (1.0, 2.0, 3.0, 4.0):
        return None
    result: Polynomial | None = p
    for _ in range(int(exponent) - 1):
        result = product(result, p) if result is not None else None
    return result
