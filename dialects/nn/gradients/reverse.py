"""Reverse-mode differentiation of a list of ops: from cotangents of some values to those of others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from xdsl.ir import Attribute, Operation, SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.locations import where
from ttc.dialects.core.ir.spec import DYNAMIC, STORED_ONLY, Spec, spec_of
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.gradients.base import GRADIENTS, Cotangents, GradientSite, NoGradient
from ttc.dialects.nn.making import OpMaker


class Entered(Protocol):
    """A maker of ops whose location can be set to where a gradient belongs."""

    def enter(self, location: Attribute) -> None:
        """Place all further ops at the gradient of what is at this location."""
        ...


def is_differentiable(spec: Spec) -> bool:
    """Return whether values of a type have cotangents: those of floating point that ops compute with."""
    return spec.dtype.kind in "fV" and spec.dtype not in STORED_ONLY


BITS = "nn.bitcast"
"""The op that makes integers of the bits of numbers, and numbers of these: such a number is no constant."""
STOP = "nn.stop_gradient"
"""The op whose result is a constant to all gradients."""


def active_values(ops: Iterable[Operation], wanted: Iterable[SSAValue]) -> set[SSAValue]:
    """Return the wanted values, and what follows from them by way of floating point and of its bits, which integers hold."""
    active, bits = set(wanted), set[SSAValue]()
    for op in ops:
        if op.name == STOP:
            continue
        smooth, patterns = not active.isdisjoint(op.operands), not bits.isdisjoint(op.operands)
        if op.name == BITS:
            smooth = patterns = smooth or patterns
        active.update(r for r in op.results if smooth and is_differentiable(spec_of(r.type)))
        bits.update(r for r in op.results if patterns and spec_of(r.type).dtype.kind in "iu")
    return active | bits


def pull_back(
    b: OpMaker,
    ops: Sequence[Operation],
    seeds: Mapping[SSAValue, SSAValue],
    wanted: Iterable[SSAValue],
    entered: Entered | None = None,
) -> dict[SSAValue, SSAValue]:
    """Return cotangents of the wanted values; those that the seeded values do not depend on have none.

    Args:
        b: makes the ops of the gradients.
        ops: what lies between wanted and seeded values, in program order.
        seeds: cotangents of values that the ops give.
        wanted: of floating point.
        entered: told the location of each op before its rule runs; None: all gradients belong where b is.
    Raises: E0506 for an op that has no gradient, at its source.
    """
    wanted = list(wanted)
    active = active_values(ops, wanted)
    found: dict[SSAValue, list[SSAValue]] = {value: [seed] for value, seed in seeds.items() if value in active}
    for op in reversed(ops):
        parts = [found.get(result) for result in op.results]
        if not any(parts):
            continue
        operands = op.named_operands() if isinstance(op, NNOp) else [*op.operands]
        asked = [x is not None and x in active and (op.name == BITS or is_differentiable(spec_of(x.type))) for x in operands]
        if not any(asked):
            continue
        if entered is not None:
            entered.enter(op.location)
        given = _apply(b, op, operands, [None if p is None else _sum(b, p) for p in parts], asked)
        for operand, wants, part in zip(operands, asked, given, strict=True):
            if part is None or operand is None or not wants:
                continue
            if part.type is not operand.type and spec_of(part.type) != spec_of(operand.type):
                raise Error("E0901", f"the gradient rule of {op.name} gives {spec_of(part.type)} for {spec_of(operand.type)}", where(op))
            found.setdefault(operand, []).append(part)
    return {value: _sum(b, found[value]) for value in wanted if value in found}


def _apply(b: OpMaker, op: Operation, operands: Cotangents, cotangents: Cotangents, asked: Sequence[bool]) -> Cotangents:
    """Return what the op's rule gives.  Raises E0506, E0901 for an nn op with neither a rule nor a reason why it has none."""
    rule = GRADIENTS.of(op.name) if isinstance(op, NNOp) else None
    if rule is None or not isinstance(op, NNOp):
        reason = GRADIENTS.refusal(op.name) or "dialect nn does not have the op"
        raise NoGradient("E0506", f"{op.name} has no gradient: {reason}", where=where(op))
    for value in (*operands, *op.results):
        if value is not None and DYNAMIC in spec_of(value.type).shape:
            raise NoGradient("E0506", f"{op.name} has no gradient here: a shape depends on data", where=where(op))
    return rule(b, GradientSite(op.name, tuple(operands), tuple(op.results), op.plain_attrs(), tuple(cotangents), tuple(asked), op))


def _sum(b: OpMaker, parts: list[SSAValue]) -> SSAValue:
    """Return the sum of contributions, which takes their place; those of slices that lie side by side are joined."""
    joined = _side_by_side(b, parts)
    if joined is not None:
        parts[:] = [joined]
    while len(parts) > 1:
        second, first = parts.pop(), parts.pop()
        parts.append(b.nn("add", first, second))
    return parts[0]


def _side_by_side(b: OpMaker, parts: Sequence[SSAValue]) -> SSAValue | None:
    """Return the sum of values between zeros that fill a dimension together, each in a place of its own; None for others."""
    placed: dict[int, SSAValue] = {}
    axes: set[int] = set()
    for value in parts:
        op = value.owner
        if not isinstance(op, NNOp) or op.name != "nn.pad":
            return None
        attrs, source = op.plain_attrs(), op.operands[0]
        margins = [i for i, sizes in enumerate(zip(attrs["before"], attrs["after"], strict=True)) if any(sizes)]
        if len(margins) != 1 or attrs["mode"] != "constant" or attrs["value"] != 0:
            return None
        axes.add(margins[0])
        placed[attrs["before"][margins[0]]] = source
    if len(axes) != 1 or len(placed) < len(parts):
        return None
    (axis,), end = axes, 0
    for start in sorted(placed):
        if start != end:
            return None
        end += b.shape(placed[start])[axis]
    whole = b.shape(parts[0])[axis]
    return b.nn("concat", *(placed[start] for start in sorted(placed)), axis=axis) if end == whole and len(placed) > 1 else None
