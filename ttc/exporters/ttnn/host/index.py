"""Elements and rows at computed places, on the host."""

from __future__ import annotations

from math import prod

from ttc.exporters.ttnn.code import call, numbers
from ttc.exporters.ttnn.emitter import Elsewhere, OpText
from ttc.exporters.ttnn.host import HOST_RULES


@HOST_RULES.rule("gather")
def gather(step: OpText) -> None:
    """Write slices at places along one axis; negative places count from the end."""
    axis, size = step.axis(), step.operand(0).shape[step.axis()]
    places = step.emitter.let("places", f"({step.host(1)}.reshape(-1) % {size}).to(torch.int64)")
    step.torch(call(f"torch.index_select({step.host(0)}, {axis}, {places}).reshape", numbers(step.shape)))


@HOST_RULES.rule("gather_elements")
def gather_elements(step: OpText) -> None:
    """Write elements at places along one axis."""
    size = step.operand(0).shape[step.axis()]
    places = step.emitter.let("places", f"({step.host(1)} % {size}).to(torch.int64)")
    step.torch(call("torch.gather", step.host(0), str(step.axis()), places))


@HOST_RULES.rule("gather_nd")
def gather_nd(step: OpText) -> None:
    """Write slices at index tuples."""
    if step.work.attrs["batch_dims"] or prod(step.shape) == 0:
        raise Elsewhere("it is batched, or empty")
    places = step.emitter.let("places", f"{step.host(1)}.to(torch.int64)")
    step.torch(f"{step.host(0)}[tuple({places}.unbind(-1))]")


@HOST_RULES.rule("scatter_elements")
def scatter_elements(step: OpText) -> None:
    """Write elements replaced at places along one axis."""
    if step.work.attrs["reduction"] not in ("none", "add"):
        raise Elsewhere(f"its reduction is {step.work.attrs['reduction']}")
    size = step.operand(0).shape[step.axis()]
    places = step.emitter.let("places", f"({step.host(1)} % {size}).to(torch.int64)")
    name = "torch.scatter" if step.work.attrs["reduction"] == "none" else "torch.scatter_add"
    step.torch(call(name, step.host(0), str(step.axis()), places, step.host(2)))


@HOST_RULES.rule("one_hot")
def one_hot(step: OpText) -> None:
    """Write marks along a new axis."""
    depth, axis = int(step.array(1).reshape(-1)[0]), int(step.axis(rank=len(step.shape)))
    if axis != -1:
        raise Elsewhere("its axis is not the last")
    marks = step.emitter.let("marks", f"torch.nn.functional.one_hot({step.host(0)}.to(torch.int64) % {depth}, {depth})")
    values = step.host(2)
    step.torch(call("torch.where", f"{marks} > 0", f"{values}[1]", f"{values}[0]"))


@HOST_RULES.rule("range")
def range_(step: OpText) -> None:
    """Write numbers at equal distances between constants."""
    start, limit, delta = (step.array(index).reshape(()).item() for index in range(3))
    step.torch(call("torch.arange", str(start), str(limit), str(delta), dtype=f"torch.{step.results[0].dtype}"))
