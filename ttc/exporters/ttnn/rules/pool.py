"""Pools over images that lie as rows of pixels."""

from __future__ import annotations

from ttc.exporters.ttnn.code import call, numbers
from ttc.exporters.ttnn.op_text import Elsewhere, OpText, ints
from ttc.exporters.ttnn.rules import RULES
from ttc.exporters.ttnn.rules.conv import padding
from ttc.exporters.ttnn.values import FLAT


@RULES.rule("max_pool2d", "avg_pool2d")
def pool(step: OpText) -> None:
    """Write a pool; its result has tiles, as all other ops have."""
    if step.work.attrs["layout"] != "nhwc":
        raise Elsewhere("its channels come first")
    op = step.work.op.removeprefix("nn.")
    dilations = ints(step, "dilations")
    if op == "avg_pool2d" and any(size != 1 for size in dilations):
        raise Elsewhere("its taps lie apart")
    pads = ints(step, "pads")
    if step.work.attrs["ceil_mode"] and pads[:2] != pads[2:]:
        raise Elsewhere("its windows reach beyond margins of two sizes")
    batch, height, width, channels = step.operand(0).shape
    counted = step.work.attrs.get("count_include_pad")
    step.give(
        call(
            f"ttnn.{op}",
            input_tensor=step.emitter.pixels(step.operand(0)),
            batch_size=str(batch),
            input_h=str(height),
            input_w=str(width),
            channels=str(channels),
            kernel_size=numbers(ints(step, "kernel"), "[]"),
            stride=numbers(ints(step, "strides"), "[]"),
            padding=numbers(padding(pads), "[]"),
            dilation=numbers(dilations, "[]") if op == "max_pool2d" else None,
            ceil_mode=str(step.work.attrs["ceil_mode"]),
            count_include_pad=None if counted is None else str(counted),
            output_layout="ttnn.TILE_LAYOUT",
        ),
        FLAT,
    )
