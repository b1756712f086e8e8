"""Softmax along an axis, and its logarithm."""

from __future__ import annotations

from ttc.exporters.ttnn.code import call
from ttc.exporters.ttnn.op_text import OpText
from ttc.exporters.ttnn.rules import RULES


@RULES.rule("softmax")
def softmax(step: OpText) -> None:
    """Write softmax along one axis."""
    step.give(call("ttnn.softmax", step.full(0), dim=str(step.axis()), numeric_stable="True", compute_kernel_config=step.config))


@RULES.rule("log_softmax")
def log_softmax(step: OpText) -> None:
    """Write log-softmax as differences: the logarithm of a softmax in 16 bits is coarse where it is small."""
    axis = step.axis()
    column = tuple(1 if place - len(step.shape) == axis else size for place, size in enumerate(step.shape))
    largest = step.let("largest", call("ttnn.max", step.full(0), dim=str(axis), keepdim="True"), column)
    shifted = step.let("shifted", call("ttnn.subtract", step.full(0), largest))
    total = step.let("total", call("ttnn.sum", step.let("exp", call("ttnn.exp", shifted)), dim=str(axis), keepdim="True"), column)
    step.give(call("ttnn.subtract", shifted, step.let("log", call("ttnn.log", total), column)))
