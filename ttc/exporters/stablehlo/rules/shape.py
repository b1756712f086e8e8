"""Views, copies and pieces of tensors."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ttc.exporters.stablehlo.literals import HloValue, integers
from ttc.exporters.stablehlo.rules import HLO_RULES
from ttc.exporters.stablehlo.writer import HloWriter


@HLO_RULES.rule("reshape")
def reshape(step: HloWriter) -> HloValue:
    """Write a reshape to known sizes."""
    return step.reshape(step.x(), step.out)


@HLO_RULES.rule("transpose")
def transpose(step: HloWriter) -> HloValue:
    """Write a permutation of the dimensions."""
    return step.transpose(step.x(), step.attr("perm"))


@HLO_RULES.rule("expand")
def expand(step: HloWriter) -> HloValue:
    """Write a broadcast to known sizes."""
    return step.broadcast(step.x(), step.out)


@HLO_RULES.rule("repeat")
def repeat(step: HloWriter) -> HloValue:
    """Write whole copies side by side: a new dimension of copies before each one, and both as one."""
    x = step.x()
    shape = [size for pair in zip(step.attr("repeats"), x.shape, strict=True) for size in pair]
    return step.reshape(step.spread(x, shape, range(1, len(shape), 2)), step.out)


@HLO_RULES.rule("shape")
def shape(step: HloWriter) -> HloValue:
    """Write the sizes of the dimensions, which are known."""
    return step.constant(step.x().shape, step.out_dtype)


@HLO_RULES.rule("slice")
def slice_(step: HloWriter) -> HloValue:
    """Write a regular part of the operand; along dimensions that are read backward the part forward, and that in reverse."""
    starts: list[int] = []
    ends: list[int] = []
    entries = list(zip(step.attr("starts"), step.attr("sizes"), step.attr("steps"), strict=True))
    for start, size, jump in entries:
        last = start + (size - 1) * jump
        starts.append(min(start, last) if size else 0)
        ends.append(max(start, last) + 1 if size else 0)
    made = step.cut_all(step.x(), starts, ends, [abs(jump) for _, _, jump in entries])
    return step.reverse(made, [axis for axis, (_, size, jump) in enumerate(entries) if jump < 0 and size > 1])


@HLO_RULES.rule("split")
def split(step: HloWriter) -> list[HloValue]:
    """Write consecutive pieces along an axis."""
    axis = step.attr("axis") % len(step.out)
    bounds = np.cumsum([0, *step.attr("sizes")]).tolist()
    return [step.cut(step.x(), axis, start, end) for start, end in pairwise(bounds)]


@HLO_RULES.rule("concat")
def concat(step: HloWriter) -> HloValue:
    """Write the operands one after the other."""
    return step.join(step.all(), step.attr("axis") % len(step.out))


@HLO_RULES.rule("pad")
def pad(step: HloWriter) -> HloValue:
    """Write margins of a value, or of what lies near the border, dimension by dimension."""
    before, after, mode = step.attr("before"), step.attr("after"), step.attr("mode")
    x = step.x()
    if mode != "constant":
        for axis, (left, right) in enumerate(zip(before, after, strict=True)):
            pieces = [_margin(step, x, axis, mode, left, first=True), x, _margin(step, x, axis, mode, right, first=False)]
            x = step.join([piece for piece in pieces if piece is not None], axis)
        return x
    return padded(step, x, before, after, step.attr("value"))


def padded(step: HloWriter, x: HloValue, before: tuple[int, ...], after: tuple[int, ...], value: float) -> HloValue:
    """Write a value with margins of a number; those below 0 cut elements off."""
    attrs = {
        "edge_padding_low": integers(before),
        "edge_padding_high": integers(after),
        "interior_padding": integers([0] * len(before)),
    }
    sizes = [low + size + high for low, size, high in zip(before, x.shape, after, strict=True)]
    return step.make("pad", x, step.constant(value, x.dtype), shape=sizes, attrs=attrs)


def _margin(step: HloWriter, x: HloValue, axis: int, mode: str, width: int, *, first: bool) -> HloValue | None:
    """Write the margin of a dimension in front or behind; None if there is none."""
    length = x.shape[axis]
    if width == 0:
        return None
    if mode == "edge":
        end = step.cut(x, axis, 0, 1) if first else step.cut(x, axis, length - 1, length)
        shape = [width if place == axis else size for place, size in enumerate(x.shape)]
        return step.broadcast(end, shape)
    if mode == "wrap":
        return step.cut(x, axis, length - width, length) if first else step.cut(x, axis, 0, width)
    start = 1 if first else length - 1 - width
    return step.reverse(step.cut(x, axis, start, start + width), [axis])
