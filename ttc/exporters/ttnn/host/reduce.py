"""Reductions, places and orders on the host."""

from __future__ import annotations

from ttc.exporters.ttnn.code import call, numbers
from ttc.exporters.ttnn.host import HOST_RULES, require_arithmetic
from ttc.exporters.ttnn.op_text import Elsewhere, OpText, ints

NAMES = {"reduce_sum": "sum", "reduce_max": "amax", "reduce_min": "amin"}


@HOST_RULES.rule(*NAMES)
def reduce(step: OpText) -> None:
    """Write a reduction over axes."""
    value, axes = step.operand(0), ints(step, "axes")
    require_arithmetic(step)
    if not axes:
        step.torch(step.host(0))
        return
    dtype = f"torch.{value.dtype}" if step.work.op == "nn.reduce_sum" else None
    step.torch(
        call(
            f"torch.{NAMES[step.work.op.removeprefix('nn.')]}",
            step.host(0),
            numbers(axes),
            keepdim=str(step.work.attrs["keepdims"]),
            dtype=dtype,
        )
    )


@HOST_RULES.rule("reduce_prod")
def reduce_prod(step: OpText) -> None:
    """Write a product along one axis."""
    require_arithmetic(step)
    axes = ints(step, "axes")
    if len(axes) != 1:
        raise Elsewhere("it has several axes")
    step.torch(
        call("torch.prod", step.host(0), str(axes[0]), keepdim=str(step.work.attrs["keepdims"]), dtype=f"torch.{step.results[0].dtype}")
    )


@HOST_RULES.rule("argmax", "argmin")
def place(step: OpText) -> None:
    """Write the place of the largest or smallest element."""
    require_arithmetic(step)
    if step.work.attrs["select_last"]:
        raise Elsewhere("of equal elements it takes the last")
    step.torch(call(f"torch.{step.stem}", step.host(0), dim=str(step.axis()), keepdim=str(step.work.attrs["keepdims"])))


@HOST_RULES.rule("cumsum", "cumprod")
def cumulative(step: OpText) -> None:
    """Write a running sum or product, backward as a flip of one."""
    require_arithmetic(step)
    if step.work.attrs["exclusive"]:
        raise Elsewhere("it leaves the element itself out")
    axis, dtype = step.axis(), f"torch.{step.results[0].dtype}"
    if step.work.attrs["reverse"]:
        step.torch(f"torch.{step.stem}({step.host(0)}.flip({axis}), dim={axis}, dtype={dtype}).flip({axis})")
    else:
        step.torch(call(f"torch.{step.stem}", step.host(0), dim=str(axis), dtype=dtype))


@HOST_RULES.rule("topk")
def topk(step: OpText) -> None:
    """Write the largest or smallest elements and their places, in a stable order."""
    require_arithmetic(step)
    axis, count = step.axis(), str(step.work.attrs["k"])
    order = step.emitter.let(
        "order", call("torch.argsort", step.host(0), dim=str(axis), descending=str(step.work.attrs["largest"]), stable="True")
    )
    places = step.emitter.let("places", call(f"{order}.narrow", str(axis), "0", count))
    step.torch(call("torch.gather", step.host(0), str(axis), places), 0)
    step.torch(f"{places}.to(torch.{step.results[1].dtype})", 1)
