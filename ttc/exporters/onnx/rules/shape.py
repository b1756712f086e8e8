"""Views, copies and pieces of tensors."""

from __future__ import annotations

from ttc.exporters.onnx.rules import NODE_RULES
from ttc.exporters.onnx.writer import NodeWriter

BEFORE_ALL = -(1 << 62)
"""The end of a slice that runs backward through the first element."""


@NODE_RULES.rule("reshape")
def reshape(step: NodeWriter) -> None:
    """Write a reshape to known sizes."""
    step.give("Reshape", step.x(), step.constant(step.out), allowzero=1)


@NODE_RULES.rule("transpose")
def transpose(step: NodeWriter) -> None:
    """Write a permutation of the dimensions."""
    perm = step.attr("perm")
    step.give("Transpose", step.x(), perm=perm) if perm else step.give("Identity", step.x())


@NODE_RULES.rule("expand")
def expand(step: NodeWriter) -> None:
    """Write a broadcast to known sizes."""
    step.give("Expand", step.x(), step.constant(step.attr("shape")))


@NODE_RULES.rule("repeat")
def repeat(step: NodeWriter) -> None:
    """Write whole copies side by side."""
    step.give("Tile", step.x(), step.constant(step.attr("repeats")))


@NODE_RULES.rule("shape")
def shape(step: NodeWriter) -> None:
    """Write the sizes of the dimensions."""
    step.give("Shape", step.x())


@NODE_RULES.rule("slice")
def slice_(step: NodeWriter) -> None:
    """Write a regular part of the operand."""
    starts, sizes, steps = step.attr("starts"), step.attr("sizes"), step.attr("steps")
    ends = [start + size * jump for start, size, jump in zip(starts, sizes, steps, strict=True)]
    ends = [BEFORE_ALL if end < 0 and jump < 0 else end for end, jump in zip(ends, steps, strict=True)]
    axes = list(range(len(starts)))
    step.give("Slice", step.x(), *(step.constant(values) for values in (starts, ends, axes, steps)))


@NODE_RULES.rule("split")
def split(step: NodeWriter) -> None:
    """Write consecutive pieces along an axis."""
    step.give("Split", step.x(), step.constant(step.attr("sizes")), axis=step.attr("axis"))


@NODE_RULES.rule("concat")
def concat(step: NodeWriter) -> None:
    """Write the operands one after the other."""
    step.give("Concat", *step.all(), axis=step.attr("axis"))


@NODE_RULES.rule("pad")
def pad(step: NodeWriter) -> None:
    """Write margins of a value, or of what lies near the border."""
    margins = step.constant([*step.attr("before"), *step.attr("after")])
    mode = step.attr("mode")
    value = [step.constant(step.attr("value"), step.dtype())] if mode == "constant" else []
    step.give("Pad", step.x(), margins, *value, mode=mode)
