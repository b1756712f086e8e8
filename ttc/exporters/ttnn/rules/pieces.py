"""Pieces of tensors: slice, split, concat, pad."""

from __future__ import annotations

from ttc.exporters.ttnn.code import call, items, literal, numbers, pairs
from ttc.exporters.ttnn.op_text import Elsewhere, OpText, ints
from ttc.exporters.ttnn.rules import RULES
from ttc.exporters.ttnn.values import FLAT, FULL, lifted


@RULES.rule("slice")
def slice_(step: OpText) -> None:
    """Write a regular part, whose steps run forward."""
    _require_float(step)
    starts, sizes, steps = (ints(step, name) for name in ("starts", "sizes", "steps"))
    if any(jump < 1 for jump in steps) or 0 in sizes:
        raise Elsewhere("it runs backward, or is empty")
    extra = max(2 - len(sizes), 0)
    ends = [start + (size - 1) * jump + 1 for start, size, jump in zip(starts, sizes, steps, strict=True)]
    places = numbers([0] * extra + list(starts), "[]"), numbers([1] * extra + ends, "[]")
    jumps = (numbers([1] * extra + list(steps), "[]"),) if any(jump != 1 for jump in steps) else ()
    step.give(call("ttnn.slice", step.full(0), *places, *jumps))


@RULES.rule("split")
def split(step: OpText) -> None:
    """Write a slice for each piece."""
    _require_float(step)
    if 0 in ints(step, "sizes"):
        raise Elsewhere("a piece is empty")
    shape = lifted(step.operand(0).shape)
    axis, start = step.axis() + len(shape), 0
    for index, size in enumerate(ints(step, "sizes")):
        first, last = [0] * len(shape), list(shape)
        first[axis], last[axis] = start, start + size
        step.give(call("ttnn.slice", step.full(0), numbers(first, "[]"), numbers(last, "[]")), index=index)
        start += size


@RULES.rule("concat")
def concat(step: OpText) -> None:
    """Write the operands one after the other; images along channels stay rows of pixels."""
    _require_float(step)
    values, axis = step.present, step.axis()
    form = FLAT if axis == -1 and len(step.shape) == 4 and any(value.is_flat for value in values) else FULL
    names = [step.emitter.flat(value) if form == FLAT else step.emitter.full(value) for value in values]
    step.give(call("ttnn.concat", items(list(names), "[]"), dim=str(axis)), form)


@RULES.rule("pad")
def pad(step: OpText) -> None:
    """Write margins of one number behind the dimensions; in front of them by a concat, which tiles allow."""
    _require_float(step)
    if step.work.attrs["mode"] != "constant":
        raise Elsewhere(f"its mode is {step.work.attrs['mode']}")
    before, after = ints(step, "before"), ints(step, "after")
    if len(before) < 2:
        raise Elsewhere("it has one dimension")
    value = literal(step.work.attrs["value"])
    name, shape = step.full(0), list(step.operand(0).shape)
    for axis, size in enumerate(before):
        if size:
            margin = step.let("margin", _margin(step, shape, axis, size), tuple(shape))
            shape[axis] += size
            name = step.let("padded", call("ttnn.concat", items([margin, name], "[]"), dim=str(axis)), tuple(shape))
    if any(after):
        step.give(call("ttnn.pad", name, pairs(after), value))
    else:
        step.same(FULL, name)


def _margin(step: OpText, shape: list[int], axis: int, size: int):
    """A block of the padding's number."""
    block = [*shape[:axis], size, *shape[axis + 1 :]]
    return call(
        "ttnn.full",
        numbers(block),
        literal(step.work.attrs["value"]),
        dtype=f"ttnn.{step.emitter.format}",
        layout="ttnn.TILE_LAYOUT",
        device="device",
    )


def _require_float(step: OpText) -> None:
    if any(not value.is_float and value.dtype.kind != "b" for value in step.present):
        raise Elsewhere("its operand is of integers")
