"""Convolutions and pools; ONNX has them with channels first."""

from __future__ import annotations

from typing import Any

from ttc.dialects.core.kernels.epilogue import activation_attrs
from ttc.exporters.onnx.rules import NODE_RULES
from ttc.exporters.onnx.rules.elementwise import activate
from ttc.exporters.onnx.writer import NodeWriter, NoNode

FIRST, LAST = (0, 3, 1, 2), (0, 2, 3, 1)
"""Orders of dimensions that bring channels from the last place to the first, and back."""
KERNEL = (3, 2, 0, 1)
"""Order that brings a kernel for channels last, [h, w, in, out], into ONNX's."""


@NODE_RULES.rule("conv2d")
def conv2d(step: NodeWriter) -> None:
    """Write a convolution, and its activation behind it."""
    name = _image(step)
    weight = step.transposed(step.x(1), KERNEL, 1) if _last(step) else step.x(1)
    bias = [step.x(2)] if step.has(2) else []
    made = step.make("Conv", name, weight, *bias, **_window(step), group=step.attr("groups"))
    _end(step, made)


@NODE_RULES.rule("conv_transpose2d")
def conv_transpose2d(step: NodeWriter) -> None:
    """Write a transposed convolution of images."""
    name = _image(step)
    weight = step.transposed(step.x(1), KERNEL, 1) if _last(step) else step.x(1)
    bias = [step.x(2)] if step.has(2) else []
    extra = {"group": step.attr("groups"), "output_padding": step.attr("output_padding")}
    _end(step, step.make("ConvTranspose", name, weight, *bias, **_window(step), **extra))


@NODE_RULES.rule("max_pool2d")
def max_pool2d(step: NodeWriter) -> None:
    """Write a pool of largest elements."""
    _end(step, step.make("MaxPool", _image(step), **_pool(step)[0]))


@NODE_RULES.rule("avg_pool2d")
def avg_pool2d(step: NodeWriter) -> None:
    """Write a pool of means."""
    window, grows = _pool(step)
    counted = bool(step.attr("count_include_pad"))
    if counted and grows:
        raise NoNode("means count margins, but not what its last windows reach beyond them")
    _end(step, step.make("AveragePool", _image(step), **window, count_include_pad=int(counted)))


def _pool(step: NodeWriter) -> tuple[dict[str, Any], bool]:
    """Return the windows of a pool, and whether margins grew for the last of them: runtimes differ in where windows may begin."""
    window = _window(step)
    kernel, pads = list(step.attr("kernel")), list(window["pads"])
    places = (1, 2) if _last(step) else (2, 3)
    for axis, place in enumerate(places):
        spacing = window.get("dilations", [1, 1])[axis] * (kernel[axis] - 1) + 1
        reach = (step.out[place] - 1) * window["strides"][axis] + spacing
        pads[axis + 2] += max(reach - step.shape()[place] - pads[axis] - pads[axis + 2], 0)
    return {**window, "pads": pads, "kernel_shape": kernel}, pads != window["pads"]


def _last(step: NodeWriter) -> bool:
    return step.attr("layout") == "nhwc"


def _image(step: NodeWriter) -> str:
    return step.transposed(step.x(), FIRST) if _last(step) else step.x()


def _window(step: NodeWriter) -> dict[str, Any]:
    return {name: step.attr(name) for name in ("strides", "pads", "dilations") if step.attr(name) is not None}


def _end(step: NodeWriter, name: str) -> None:
    """Bring channels back to their place, and apply the activation."""
    if _last(step):
        name = step.transposed(name, LAST)
    kind = step.attr("activation")
    if kind is None:
        step.give("Identity", name)
    else:
        activate(step, name, kind, dict(activation_attrs(kind, tuple(step.attr("activation_args") or ()))))
