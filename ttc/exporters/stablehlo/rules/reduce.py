"""Reductions, places and orders of elements, running sums."""

from __future__ import annotations

from math import prod

import numpy as np

from ttc.exporters.stablehlo.literals import HloValue, flag, integer, integers, pairs
from ttc.exporters.stablehlo.regions import combining, extreme, order
from ttc.exporters.stablehlo.rules import HLO_RULES
from ttc.exporters.stablehlo.rules.shape import padded
from ttc.exporters.stablehlo.writer import HloWriter

OPS = {
    **{"reduce_sum": "add", "reduce_mean": "add", "reduce_prod": "multiply", "reduce_max": "maximum", "reduce_min": "minimum"},
    **{"cumsum": "add", "cumprod": "multiply"},
}
"""The op of StableHLO that combines two elements, by reduction."""


@HLO_RULES.rule("reduce_sum", "reduce_mean", "reduce_prod", "reduce_max", "reduce_min")
def reduce(step: HloWriter) -> HloValue:
    """Write a reduction over axes; a mean is the sum divided by the count."""
    x, axes = step.x(), step.attr("axes")
    if not axes:
        return x
    first = extreme_of(x.dtype, largest=step.mnemonic == "reduce_min") if step.mnemonic in ("reduce_max", "reduce_min") else None
    made = step.reduce(OPS[step.mnemonic], x, axes, _neutral(step) if first is None else first, keep=bool(step.attr("keepdims")))
    if step.mnemonic != "reduce_mean":
        return made
    count = prod(x.shape[axis] for axis in axes)
    return step.with_number("divide", made, count if x.dtype.kind not in "iu" else max(count, 1))


def extreme_of(dtype: np.dtype, *, largest: bool) -> float | int | bool:
    """Return the largest or smallest element of a dtype."""
    if dtype.kind == "b":
        return largest
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).max if largest else np.iinfo(dtype).min)
    return np.inf if largest else -np.inf


def _neutral(step: HloWriter) -> int:
    return int(OPS[step.mnemonic] == "multiply")


@HLO_RULES.rule("argmax", "argmin")
def place(step: HloWriter) -> HloValue:
    """Write the place of the largest or smallest element: a reduction of elements and their places."""
    x, axis = step.x(), step.attr("axis") % len(step.x().shape)
    index, last, largest = np.dtype(np.int64), bool(step.attr("select_last")), step.mnemonic == "argmax"
    left = tuple(size for number, size in enumerate(x.shape) if number != axis)
    starts = [step.constant(extreme_of(x.dtype, largest=not largest), x.dtype), step.constant(extreme_of(index, largest=not last), index)]
    _, places = step.make_several(
        "reduce",
        [x, step.count(x.shape, axis), *starts],
        [HloValue("", left, x.dtype), HloValue("", left, index)],
        {"dimensions": integers([axis])},
        extreme(x.dtype, index, largest=largest, last=last),
    )
    return step.reshape(places, step.out)


@HLO_RULES.rule("cumsum", "cumprod")
def running(step: HloWriter) -> HloValue:
    """Write a running sum or product along an axis: windows that reach to its beginning, or to its end."""
    x, axis = step.x(), step.attr("axis") % len(step.out)
    length, first, backward = x.shape[axis], _neutral(step), bool(step.attr("reverse"))
    if length == 0:
        return x
    margin = (0, length - 1) if backward else (length - 1, 0)
    attrs = {
        "window_dimensions": integers([length if place == axis else 1 for place in range(len(x.shape))]),
        "padding": pairs([margin if place == axis else (0, 0) for place in range(len(x.shape))]),
    }
    start, region = step.constant(first, x.dtype), combining(OPS[step.mnemonic], x.dtype)
    made = step.make("reduce_window", x, start, attrs=attrs, region=region)
    if not step.attr("exclusive"):
        return made
    one = tuple(int(place == axis) for place in range(len(x.shape)))
    less = tuple(-number for number in one)
    return padded(step, made, less if backward else one, one if backward else less, first)


@HLO_RULES.rule("topk")
def topk(step: HloWriter) -> list[HloValue]:
    """Write the largest or smallest elements, in order, and their places: the beginning of what is sorted."""
    x, axis, k = step.x(), step.attr("axis") % len(step.out), step.attr("k")
    index = np.dtype(np.int64)
    made = step.make_several(
        "sort",
        [x, step.count(x.shape, axis)],
        [x, HloValue("", x.shape, index)],
        {"dimension": integer(axis), "is_stable": flag(True)},
        order(x.dtype, index, descending=bool(step.attr("largest"))),
    )
    return [step.cut(value, axis, 0, k) for value in made]
