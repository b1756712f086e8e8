"""Reductions over axes, and running sums."""

from __future__ import annotations

from math import prod

from ttc.exporters.ttnn.code import call, numbers
from ttc.exporters.ttnn.op_text import Elsewhere, OpText, ints
from ttc.exporters.ttnn.rules import RULES
from ttc.exporters.ttnn.rules.unary import pass_on
from ttc.exporters.ttnn.values import lifted

NAMES = {"reduce_sum": "sum", "reduce_mean": "mean", "reduce_max": "max", "reduce_min": "min"}
RULES.refuse("places of elements are integers, which the host computes with", "argmax", "argmin")


@RULES.rule(*NAMES)
def reduce(step: OpText) -> None:
    """Write a reduction as one call for all axes; images keep their pixels in one dimension."""
    value = step.operand(0)
    if not value.is_float:
        raise Elsewhere("its operand is of integers")
    if not ints(step, "axes"):
        pass_on(step)
        return
    name, rank = NAMES[step.work.op.removeprefix("nn.")], len(value.shape)
    axes = sorted(axis % rank for axis in ints(step, "axes"))
    shape, source = lifted(value.shape), None
    if value.is_flat and axes == [1, 2]:
        shape, axes = (value.shape[0], 1, value.shape[1] * value.shape[2], value.shape[3]), [2]
        source = step.let("image", call("ttnn.reshape", step.flat(0), numbers(shape)), shape) if value.shape[0] > 1 else step.flat(0)
    source = step.full(0) if source is None else source
    places = [axis + max(2 - rank, 0) for axis in axes] if shape == lifted(value.shape) else axes
    kept = list(shape)
    for place in places:
        kept[place] = 1
    dims = str(places[0]) if len(places) == 1 else numbers(places)
    made = call(f"ttnn.{name}", source, dim=dims, keepdim="True")
    if tuple(kept) == lifted(step.shape):
        step.give(made)
    else:
        step.give(call("ttnn.reshape", step.let(name, made, tuple(kept)), numbers(lifted(step.shape))))


@RULES.rule("reduce_prod")
def reduce_prod(step: OpText) -> None:
    """Write the product along one axis."""
    axes = ints(step, "axes")
    if len(axes) != 1 or not step.work.attrs["keepdims"] or not step.operand(0).is_float:
        raise Elsewhere("it has several axes, or drops them")
    step.give(call("ttnn.prod", step.full(0), dim=str(axes[0] % len(step.shape) - len(step.shape)), keepdim="True"))


@RULES.rule("cumsum", "cumprod")
def cumulative(step: OpText) -> None:
    """Write the running sum or product from the first element on."""
    if step.work.attrs["exclusive"] or step.work.attrs["reverse"] or not step.operand(0).is_float or prod(step.shape) == 0:
        raise Elsewhere("it is exclusive, reversed or of integers")
    step.give(call(f"ttnn.{step.stem}", step.full(0), dim=str(step.axis())))
