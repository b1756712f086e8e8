"""Convolutions: images lie as rows of pixels, weights stay on the host until the first call has laid them out."""

from __future__ import annotations

from math import prod

import numpy as np

from ttc.exporters.ttnn import weights as store
from ttc.exporters.ttnn.code import CallText, call, numbers
from ttc.exporters.ttnn.op_text import Elsewhere, OpText, ints
from ttc.exporters.ttnn.rules import RULES
from ttc.exporters.ttnn.rules.activation import follow
from ttc.exporters.ttnn.values import FLAT, TILE

FUSED = {"relu": "ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU)", "silu": "ttnn.UnaryWithParam(ttnn.UnaryOpType.SILU)"}
"""Activations that convolutions apply themselves."""
MANY_PIXELS = 2048
"""The pixels of a core from which on a convolution computes a row of tiles at a time: TT-NN's choice may leave its tensors no room."""


@RULES.rule("conv2d")
def conv2d(step: OpText) -> None:
    """Write a convolution of images with channels last."""
    order = (3, 2, 0, 1) if step.work.attrs["layout"] == "nhwc" else (0, 1, 2, 3)
    _convolution(step, "conv2d", np.transpose(step.array(1), order))


@RULES.rule("conv_transpose2d")
def conv_transpose2d(step: OpText) -> None:
    """Write a transposed convolution; weights are [in, out / groups, h, w]."""
    order = (3, 2, 0, 1) if step.work.attrs["layout"] == "nhwc" else (0, 1, 2, 3)
    extra = {"output_padding": numbers(ints(step, "output_padding"))}
    _convolution(step, "conv_transpose2d", np.transpose(step.array(1), order), **extra)


def _convolution(step: OpText, name: str, weight: np.ndarray, **extra: CallText) -> None:
    """Write the call, which keeps the weights that it has laid out for the calls that follow."""
    if step.work.attrs["layout"] != "nhwc":
        raise Elsewhere("its channels come first")
    image, emitter = step.operand(0), step.emitter
    batch, height, width, channels = image.shape
    kernel = emitter.weight(
        step.operand(1), f"kernel {id(step.work)}", weight, format_=step.weight_format, place=store.KERNEL, layout=store.ROW_MAJOR
    )
    bias = _bias(step)
    pixels = emitter.pixels(image)
    activation = step.work.attrs.get("activation")
    fused = FUSED.get(str(activation))
    rows = str(TILE) if prod(step.shape[:3]) >= MANY_PIXELS * emitter.graph.target.cores else None
    config = call("ttnn.Conv2dConfig", weights_dtype=f"ttnn.{step.weight_format}", activation=fused, act_block_h_override=rows)
    made = call(
        f"ttnn.{name}",
        input_tensor=pixels,
        weight_tensor=kernel,
        bias_tensor=bias,
        device="device",
        in_channels=str(channels),
        out_channels=str(step.shape[3]),
        batch_size=str(batch),
        input_height=str(height),
        input_width=str(width),
        kernel_size=numbers(weight.shape[2:]),
        stride=numbers(ints(step, "strides")),
        padding=numbers(padding(ints(step, "pads"))),
        **extra,
        dilation=numbers(ints(step, "dilations")),
        groups=str(step.work.attrs["groups"]),
        dtype=f"ttnn.{emitter.format}",
        conv_config=config,
        compute_config=step.config,
        return_weights_and_bias="True",
    )
    last = activation is None or fused is not None
    result, place = emitter.memory(name, step.shape)
    emitter.write(f"{result}, laid_out = ", CallText(made.callee, made.arguments, (*made.keywords, ("memory_config", place))))
    emitter.write(f"{kernel} = ", "laid_out[0]")
    if bias is not None:
        emitter.write(f"{bias} = ", "laid_out[1]")
    if last:
        step.same(FLAT, result)
    else:
        follow(step, result, FLAT)


def _bias(step: OpText) -> str | None:
    if not step.has(2):
        return None
    row = step.array(2).reshape(1, 1, 1, -1)
    return step.emitter.weight(
        step.operand(2), f"kernel {id(step.work)}", row, format_=step.weight_format, place=store.KERNEL, layout=store.ROW_MAJOR
    )


def padding(pads: tuple[int, ...]) -> tuple[int, ...]:
    """Return TT-NN's padding of pads in dialect nn's order: two numbers where both sides are equal, else top, bottom, left, right."""
    top, left, bottom, right = pads
    return (top, left) if (top, left) == (bottom, right) else (top, bottom, left, right)
