"""Bounds that integers provably keep: what decides whether a device may hold them in a format of another width.

A rule in `REACHES` takes an op and the bounds of its operands and gives those of what it computes, in
arithmetic without a width; several results have the same.  An op without a rule may give any number, and come round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TypeAlias

import numpy as np
from xdsl.ir import BlockArgument, Operation, SSAValue

from ttc.dialects.core.ir.leaves import ConstantOp, LeafOp, StateOp
from ttc.dialects.core.ir.spec import Spec, spec_of
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.core.rule_tables import RuleTable
from ttc.dialects.nn.base import NNOp

Bounds: TypeAlias = "tuple[int, int]"
"""The lowest and the highest number that there may be."""
Reach: TypeAlias = "Callable[..., Bounds]"
REACHES: RuleTable[Reach] = RuleTable("reach of integers")


def limits(dtype: np.dtype) -> Bounds:
    """Return the bounds of all numbers of a dtype of integers or truth values."""
    if dtype.kind == "b":
        return 0, 1
    found = np.iinfo(dtype)
    return int(found.min), int(found.max)


def within(bounds: Bounds, room: Bounds) -> bool:
    """Return whether bounds lie inside others."""
    return room[0] <= bounds[0] and bounds[1] <= room[1]


def hull(*bounds: Bounds) -> Bounds:
    """Return the bounds of numbers that keep one of some bounds."""
    return min(low for low, _ in bounds), max(high for _, high in bounds)


class Ranges:
    """Bounds of the values of a function whose dtypes a device holds in formats of another width.

    Args:
        ops: of the function, in order.
        weights: values of leaves.
        room: what the device's format for a dtype holds; None for a dtype that it holds as it is, or not at all.
    """

    def __init__(self, ops: Sequence[Operation], weights: WeightStore, room: Callable[[np.dtype], Bounds | None]) -> None:
        self._weights = weights
        self._room = room
        self._bounds: dict[SSAValue, Bounds] = {}
        self._reach: dict[SSAValue, Bounds | None] = {}
        for op in ops:
            for value in op.results:
                spec = spec_of(value.type)
                if spec.dtype.kind in "iu" and room(spec.dtype) is not None:
                    self._add(op, value, spec)

    def exceeds(self, value: SSAValue) -> bool:
        """Return whether a value may hold a number that the device's format for it does not."""
        room = self._room(spec_of(value.type).dtype)
        return room is not None and not within(self._of(value), room)

    def wraps(self, value: SSAValue) -> bool:
        """Return whether an op may leave the range of its result's dtype, and the device would not wrap around where the source does."""
        if value not in self._reach:
            return False
        found = self._reach[value]
        return found is None or not within(found, limits(spec_of(value.type).dtype))

    def _add(self, op: Operation, value: SSAValue, spec: Spec) -> None:
        found = limits(spec.dtype)
        if isinstance(op, LeafOp):
            found = self._of_leaf(op, spec)
        elif isinstance(op, NNOp):
            rule = REACHES.get(op.name.removeprefix("nn."))
            self._reach[value] = None if rule is None else rule(op, *[self._of(x) for x in op.operands])
            found = self._reach[value] or found
        self._bounds[value] = found if within(found, limits(spec.dtype)) else limits(spec.dtype)

    def _of(self, value: SSAValue) -> Bounds:
        """Bounds of a value; of what holds no integers none that mean anything."""
        spec = spec_of(value.type)
        if spec.dtype.kind not in "iub":
            return 0, 0
        known = self._bounds.get(value)
        if known is not None:
            return known
        room = self._room(spec.dtype) if isinstance(value, BlockArgument) else None
        return limits(spec.dtype) if room is None else _common(room, limits(spec.dtype))  # what runs are given is checked

    def _of_leaf(self, leaf: LeafOp, spec: Spec) -> Bounds:
        """Bound a constant by its values; what may be given anew, or follows from it, may be all that the format holds."""
        room = self._room(spec.dtype)
        if isinstance(leaf, StateOp):  # as wide as what runs make of it
            return limits(spec.dtype)
        if room is None or not spec.elements:
            return 0, 0
        array = leaf.array(self._weights)
        found = int(array.min()), int(array.max())
        exact = isinstance(leaf, ConstantOp) and (leaf.key is None or not self._weights[leaf.key].derived)
        return found if exact or not within(found, room) else _common(room, limits(spec.dtype))


def _common(a: Bounds, b: Bounds) -> Bounds:
    return max(a[0], b[0]), min(a[1], b[1])


# ---- rules -----------------------------------------------------------------------------------------------------------------------


@REACHES.rule("identity", "reshape", "transpose", "expand", "repeat", "slice", "split", "reverse_sequence", "compress", "max_pool2d")
@REACHES.rule("dynamic_reshape", "dynamic_expand", "dynamic_slice", "gather", "gather_elements", "gather_nd")
@REACHES.rule("reduce_max", "reduce_min", "reduce_mean")
def _first(op: NNOp, x: Bounds, *others: Bounds) -> Bounds:
    """Some numbers of the first operand."""
    return x


REACHES.add("concat", lambda op, *xs: hull(*xs))


@REACHES.rule("cast")
def reach_cast(op: NNOp, x: Bounds) -> Bounds:
    """Return the range of a cast: the operand's integers; of a floating-point number any."""
    exact = spec_of(op.operands[0].type).dtype.kind in "iub"
    return x if exact else limits(spec_of(op.results[0].type).dtype)


REACHES.add("quantize", lambda op, *operands: limits(spec_of(op.results[0].type).dtype))


@REACHES.rule("pad")
def reach_pad(op: NNOp, x: Bounds) -> Bounds:
    """Return the range of a pad: the operand's numbers, and that of the margins."""
    value = op.plain_attrs()["value"]
    return hull(x, (int(value), int(value))) if np.isfinite(value) else limits(spec_of(op.results[0].type).dtype)


REACHES.add("where", lambda op, condition, a, b: hull(a, b))
REACHES.add("one_hot", lambda op, indices, depth, values: values)


@REACHES.rule("scatter_elements", "scatter_nd")
def reach_scatter(op: NNOp, x: Bounds, indices: Bounds, updates: Bounds) -> Bounds:
    """Return the range of a scatter: x and what is written; what is added or multiplied may be anything."""
    plain = op.plain_attrs()["reduction"] in ("none", "min", "max")
    return hull(x, updates) if plain else limits(spec_of(op.results[0].type).dtype)


@REACHES.rule("add")
def reach_add(op: NNOp, a: Bounds, b: Bounds) -> Bounds:
    return a[0] + b[0], a[1] + b[1]


REACHES.add("sub", lambda op, a, b: (a[0] - b[1], a[1] - b[0]))


@REACHES.rule("mul")
def reach_mul(op: NNOp, a: Bounds, b: Bounds) -> Bounds:
    found = [x * y for x in a for y in b]
    return min(found), max(found)


@REACHES.rule("div")
def reach_div(op: NNOp, a: Bounds, b: Bounds) -> Bounds:
    """Return the range of a division: no larger than the dividend; what a division by zero gives is the source's affair."""
    largest = max(map(abs, a))
    return -largest if a[0] < 0 or b[0] < 0 else 0, largest


@REACHES.rule("mod")
def reach_mod(op: NNOp, a: Bounds, b: Bounds) -> Bounds:
    """Return the range of nn.mod: magnitudes below that of the divisor."""
    largest = max(*map(abs, b), 1) - 1
    return -largest if a[0] < 0 or b[0] < 0 else 0, largest


REACHES.add("minimum", lambda op, a, b: (min(a[0], b[0]), min(a[1], b[1])))
REACHES.add("maximum", lambda op, a, b: (max(a[0], b[0]), max(a[1], b[1])))
REACHES.add("abs", lambda op, x: (0 if x[0] <= 0 <= x[1] else min(map(abs, x)), max(map(abs, x))))
REACHES.add("neg", lambda op, x: (-x[1], -x[0]))
REACHES.add("sign", lambda op, x: (-1, 1))
REACHES.add("relu", lambda op, x: (max(x[0], 0), max(x[1], 0)))


@REACHES.rule("clip")
def reach_clip(op: NNOp, x: Bounds) -> Bounds:
    """Return the range of a clip: between the limits, as floating-point numbers have them."""
    attrs = op.plain_attrs()
    given = [attrs.get(name) for name in ("min", "max")]
    ends = [int(end) for end in given if end is not None and np.isfinite(end)]
    low = x[0] if given[0] is None or not ends else max(x[0], min(ends))
    high = x[1] if given[1] is None or not ends else min(x[1], max(ends))
    return hull((low, low), (high, high), *((end, end) for end in ends))


@REACHES.rule("bitwise_and", "bitwise_or", "bitwise_xor")
def _bits(op: NNOp, *xs: Bounds) -> Bounds:
    """Return numbers of as many bits as the operands' take, with a sign if one has it."""
    low, high = hull(*xs)
    bits = max((-low - 1 if low < 0 else low).bit_length(), high.bit_length())
    return -(1 << bits) if low < 0 else 0, (1 << bits) - 1


REACHES.add("shift_right", lambda op, x, by: hull(x, (0, 0), (-1, -1)) if x[0] < 0 else (0, x[1]))


@REACHES.rule("argmax", "argmin", "shape", "non_zero")
def _sizes(op: NNOp, *xs: Bounds) -> Bounds:
    """Return places in the operand, or its sizes."""
    shape = spec_of(op.operands[0].type).shape
    return limits(np.dtype(np.int64)) if -1 in shape else (0, max(shape, default=1))


REACHES.add("topk", lambda op, x: hull(x, _sizes(op)))
REACHES.add("unique", lambda op, x: hull(x, _count(op)))


@REACHES.rule("reduce_sum", "cumsum")
def reach_sum(op: NNOp, x: Bounds) -> Bounds:
    """Return the range of sums of up to all numbers of the operand."""
    return reach_mul(op, hull(x, (0, 0)), _count(op))


@REACHES.rule("matmul")
def reach_matmul(op: NNOp, a: Bounds, b: Bounds, *bias: Bounds) -> Bounds:
    """Return the range of sums of as many products as the last dimension of the left operand has, or its only one."""
    terms = max(spec_of(op.operands[0].type).shape[-2:], default=1)
    product = reach_mul(op, a, b)
    total = reach_mul(op, hull(product, (0, 0)), (0, terms))
    return reach_add(op, total, hull((0, 0), *bias))


def _count(op: NNOp) -> Bounds:
    """Up to all elements of the operand."""
    shape = spec_of(op.operands[0].type).shape
    return (0, limits(np.dtype(np.int64))[1]) if -1 in shape else (0, prod(shape))
