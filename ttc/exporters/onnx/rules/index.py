"""Elements and slices at computed places, and what is chosen by values."""

from __future__ import annotations

from ttc.exporters.onnx.rules import NODE_RULES
from ttc.exporters.onnx.writer import NodeWriter, NoNode

WITH_AXIS = {"gather": "Gather", "gather_elements": "GatherElements", "one_hot": "OneHot", "compress": "Compress"}


@NODE_RULES.rule(*WITH_AXIS)
def along_axis(step: NodeWriter) -> None:
    """Write an op whose one attribute is an axis."""
    step.give(WITH_AXIS[step.mnemonic], *step.all(), axis=step.attr("axis"))


@NODE_RULES.rule("gather_nd")
def gather_nd(step: NodeWriter) -> None:
    """Write slices at index tuples."""
    step.give("GatherND", step.x(0), step.make("Cast", step.x(1), to=7), batch_dims=step.attr("batch_dims"))


@NODE_RULES.rule("scatter_elements")
def scatter_elements(step: NodeWriter) -> None:
    """Write elements replaced at places along one axis."""
    step.give("ScatterElements", *step.all(), axis=step.attr("axis"), reduction=_reduction(step))


@NODE_RULES.rule("scatter_nd")
def scatter_nd(step: NodeWriter) -> None:
    """Write slices replaced at index tuples."""
    step.give("ScatterND", step.x(0), step.make("Cast", step.x(1), to=7), step.x(2), reduction=_reduction(step))


def _reduction(step: NodeWriter) -> str:
    found = str(step.attr("reduction"))
    if found not in ("none", "add", "mul", "min", "max"):
        raise NoNode(f"ONNX has no reduction {found}")
    return found


@NODE_RULES.rule("range")
def range_(step: NodeWriter) -> None:
    """Write numbers at equal distances."""
    step.give("Range", *step.all())


@NODE_RULES.rule("non_zero")
def non_zero(step: NodeWriter) -> None:
    """Write the places of elements that are not 0."""
    step.give("NonZero", step.x())
