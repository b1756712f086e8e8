"""Checks a gradient rule in float64: its dot products with directions against differences of the op itself.

For a direction v of an operand and cotangents u of the results, the rule's cotangent g must have <g, v> = <u, J v>, and J v is
(f(x + h v) - f(x - h v)) / 2h.  Where the op has a kink, so that the differences to both sides are not the same, anything between is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Block, SSAValue

from ttc.dialects.core.formats import format_of
from ttc.dialects.core.ir.entries import Port, finish_function, make_function
from ttc.dialects.core.ir.locations import named_location
from ttc.dialects.core.ir.spec import Spec, spec_of, tensor_type
from ttc.dialects.core.ir.to_plain import plain_block
from ttc.dialects.core.plain import interpret
from ttc.dialects.core.plain.functions import Work
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.core.records import record
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.gradients.maker import GradientMaker
from ttc.dialects.nn.gradients.reverse import is_differentiable, pull_back

STEP = 1e-5
BOUND = 1e-6
"""The largest error of a gradient, relative to the sum of magnitudes of the dot product."""
KINK = 1e-3
"""Differences to both sides that are further apart, relative to their magnitudes, show a kink."""
WIDE = np.dtype(np.float64)

Arrays = Sequence["NDArray | None"]


@record
class OperandDeviation:
    """How far the rule is off for one operand.

    Args:
        operand: its number.
        error: of the dot product, relative to the sum of magnitudes; NaN if a value is not finite.
    """

    operand: int
    error: float

    @property
    def is_wrong(self) -> bool:
        """Whether the rule is wrong: where values are not finite nothing is known."""
        return self.error > BOUND


def widened(value: NDArray | None) -> NDArray | None:
    """Return an array of floating point as float64, any other as it is."""
    return value.astype(WIDE) if value is not None and is_differentiable(Spec(value.shape, value.dtype)) else value


def check_rule(kind: type[NNOp], arrays: Arrays, attrs: dict[str, Any], seed: int = 0, directions: int = 2) -> list[OperandDeviation]:
    """Return what a rule gives for each operand of floating point, in random directions.

    Args:
        kind: an op without regions.
        arrays: its operands, in which floating point counts as float64; None for absent ones.
        attrs: its attributes; a dtype of floating point is taken for float64.
        directions: tried for each operand.
    Raises: E0506 if the op has no gradient.
    """
    values = [widened(x) for x in arrays]
    wide = {key: WIDE if isinstance(v, np.dtype) and v.kind in "fV" else v for key, v in attrs.items()}
    generator = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        results = evaluate(kind, values, wide)
        if _writes_twice(kind, values, wide):
            return []
        floats = [y.dtype == WIDE and i < len(results) - kind.KEPT for i, y in enumerate(results)]
        cotangents = [generator.standard_normal(y.shape) if f else None for y, f in zip(results, floats, strict=True)]
        gradients = rule_gradients(kind, values, wide, cotangents)
        found: list[OperandDeviation] = []
        for index, (x, g) in enumerate(zip(values, gradients, strict=True)):
            if x is None or x.dtype != WIDE or not any(floats):
                continue
            tries = [_error(kind, values, wide, index, g, cotangents, results, generator) for _ in range(directions)]
            found.append(OperandDeviation(index, float("nan") if np.isnan(tries).all() else float(np.nanmax(tries))))
    return found


def _writes_twice(kind: type[NNOp], values: Arrays, attrs: dict[str, Any]) -> bool:
    """Return whether a scatter replaces one element by several: its result depends on their order, and its gradient is a convention."""
    if attrs.get("reduction") != "none":
        return False
    x, indices, updates = (np.asarray(value) for value in values)
    counts = evaluate(kind, [np.zeros(x.shape), indices, np.ones(updates.shape)], {**attrs, "reduction": "add"})
    return bool(counts[0].max(initial=0.0) > 1)


def evaluate(kind: type[NNOp], values: Arrays, attrs: dict[str, Any]) -> list[NDArray]:
    """Return the op's results by its kernel."""
    found = kind.evaluate(*values, **attrs)
    return [np.asarray(y) for y in (found if isinstance(found, tuple) else (found,))]


def _error(
    kind: type[NNOp],
    values: Arrays,
    attrs: dict[str, Any],
    index: int,
    gradient: NDArray | None,
    cotangents: Arrays,
    results: Sequence[NDArray],
    generator: np.random.Generator,
) -> float:
    """Return the error of the dot product in one direction of one operand."""
    x = values[index]
    direction = generator.standard_normal(x.shape if x is not None else ())
    terms = direction * (np.zeros(direction.shape) if gradient is None else gradient)

    def moved(step: float) -> list[NDArray]:
        return evaluate(kind, [v + step * direction if i == index and v is not None else v for i, v in enumerate(values)], attrs)

    def dot(ahead: Sequence[NDArray], behind: Sequence[NDArray], step: float) -> NDArray:
        rows = zip(ahead, behind, cotangents, strict=True)
        return np.concatenate([(u * (a - c) / step).ravel() for a, c, u in rows if u is not None])

    ahead, behind = moved(STEP), moved(-STEP)
    right, left, both = dot(ahead, results, STEP), dot(results, behind, STEP), dot(ahead, behind, 2 * STEP)
    scale = float(np.abs(both).sum() + np.abs(terms).sum()) + 1e-3
    if not np.isfinite(scale):
        return float("nan")
    kinks = np.abs(right - left) > KINK * (np.abs(right) + np.abs(left))
    low, high = (np.where(kinks, f(right, left), both).sum() for f in (np.minimum, np.maximum))
    return float(max(low - terms.sum(), terms.sum() - high, 0.0)) / scale


def rule_gradients(kind: type[NNOp], values: Arrays, attrs: dict[str, Any], cotangents: Arrays) -> list[NDArray | None]:
    """Return what the op's rule gives for each operand; None where it is 0, or the operand is not of floating point."""
    given = [x for x in (*values, *cotangents) if x is not None]
    ports = [(Port(f"x{i}"), tensor_type(Spec(x.shape, x.dtype))) for i, x in enumerate(given)]
    function, weights = make_function("check", ports), WeightStore()
    block = function.body.block
    arguments = iter(block.args)
    operands = [None if x is None else next(arguments) for x in values]
    op = kind.build(*operands, location=named_location(kind.name), **attrs)
    block.add_op(op)
    seeds: dict[SSAValue, SSAValue] = {y: next(arguments) for y, u in zip(op.results, cotangents, strict=True) if u is not None}
    wanted = [x for x in operands if x is not None and is_differentiable(spec_of(x.type))]
    maker = GradientMaker(block, weights)
    found = pull_back(maker, [op], seeds, wanted, maker) if seeds else {}
    results = [(Port(f"g{i}"), g) for i, x in enumerate(operands) if x is not None and (g := found.get(x)) is not None]
    finish_function(function, results)
    made = iter(_run(block, given, weights))
    return [next(made) if x is not None and x in found else None for x in operands]


def _run(block: Block, values: Sequence[NDArray], weights: WeightStore) -> list[NDArray]:
    def resolve(work: Work) -> NDArray:
        value = weights[str(work.attrs["key"])].value()
        return format_of(value.dtype).unpack(value)

    return interpret.run(plain_block(block), list(values), resolve)
