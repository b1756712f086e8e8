"""Elements and rows at computed places, on the host."""

from __future__ import annotations

from math import prod

from ttc.exporters.ttnn.code import call, numbers
from ttc.exporters.ttnn.host import HOST_RULES, require_arithmetic
from ttc.exporters.ttnn.op_text import Elsewhere, OpText


@HOST_RULES.rule("gather")
def gather(step: OpText) -> None:
    """Write slices at places along one axis; negative places count from the end."""
    require_arithmetic(step)
    axis, size = step.axis(), step.operand(0).shape[step.axis()]
    places = _places(step, size, ".reshape(-1)")
    step.torch(call(f"torch.index_select({step.host(0)}, {axis}, {places}).reshape", numbers(step.shape)))


@HOST_RULES.rule("gather_elements")
def gather_elements(step: OpText) -> None:
    """Write elements at places along one axis."""
    require_arithmetic(step)
    places = _places(step, step.operand(0).shape[step.axis()])
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
    require_arithmetic(step)
    places = _places(step, step.operand(0).shape[step.axis()])
    name = "torch.scatter" if step.work.attrs["reduction"] == "none" else "torch.scatter_add"
    step.torch(call(name, step.host(0), str(step.axis()), places, step.host(2)))


def _places(step: OpText, size: int, shaped: str = "") -> str:
    """Write places along an axis of that size as torch takes them: from 0 on."""
    return step.emitter.let("places", f"{step.host(1)}{shaped}.to(torch.int64) % {size}")
