"""Reductions, places and orders of elements."""

from __future__ import annotations

from ttc.exporters.onnx.rules import NODE_RULES
from ttc.exporters.onnx.writer import NodeWriter, element_type

NAMES = {
    "reduce_sum": "ReduceSum",
    "reduce_mean": "ReduceMean",
    "reduce_max": "ReduceMax",
    "reduce_min": "ReduceMin",
    "reduce_prod": "ReduceProd",
}
NODE_RULES.refuse("ONNX has no running product", "cumprod")


@NODE_RULES.rule(*NAMES)
def reduce(step: NodeWriter) -> None:
    """Write a reduction over axes."""
    if not step.attr("axes"):
        step.give("Identity", step.x())
        return
    step.give(NAMES[step.mnemonic], step.x(), step.constant(step.attr("axes")), keepdims=int(step.attr("keepdims")))


@NODE_RULES.rule("argmax", "argmin")
def place(step: NodeWriter) -> None:
    """Write the place of the largest or smallest element."""
    op = "ArgMax" if step.mnemonic == "argmax" else "ArgMin"
    last = int(step.attr("select_last"))
    name = step.make(op, step.x(), axis=step.attr("axis"), keepdims=int(step.attr("keepdims")), select_last_index=last)
    step.give("Cast", name, to=element_type(step.out_dtype))


@NODE_RULES.rule("cumsum")
def cumsum(step: NodeWriter) -> None:
    """Write a running sum along an axis."""
    flags = {name: int(step.attr(name)) for name in ("exclusive", "reverse")}
    step.give("CumSum", step.x(), step.constant(step.attr("axis")), **flags)


@NODE_RULES.rule("topk")
def topk(step: NodeWriter) -> None:
    """Write the largest or smallest elements, in order, and their places."""
    step.give("TopK", step.x(), step.constant([step.attr("k")]), axis=step.attr("axis"), largest=int(step.attr("largest")), sorted=1)


@NODE_RULES.rule("reverse_sequence")
def reverse_sequence(step: NodeWriter) -> None:
    """Write the beginnings of sequences in reverse order."""
    lengths = step.make("Cast", step.x(1), to=7)
    step.give("ReverseSequence", step.x(), lengths, time_axis=step.attr("time_axis"), batch_axis=step.attr("batch_axis"))
