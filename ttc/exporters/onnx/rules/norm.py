"""Normalizations and softmax, by their names in ONNX."""

from __future__ import annotations

from math import prod

import numpy as np

from ttc.exporters.onnx.rules import NODE_RULES
from ttc.exporters.onnx.writer import NodeWriter

NODE_RULES.refuse("training is not exported", "batch_norm_training")


@NODE_RULES.rule("layer_norm")
def layer_norm(step: NodeWriter) -> None:
    """Write layer norm; a scale or bias that is no tensor of the normalized dimensions follows as a product or sum."""
    axis = step.attr("axis") % len(step.out)
    own = step.out[axis:]
    fits = [step.has(index) and step.shape(index) == own for index in (1, 2)]
    scale = step.x(1) if fits[0] else step.nodes.constant(np.ones(own, step.dtype()))
    bias = [step.x(2)] if fits[1] and (fits[0] or not step.has(1)) else []
    name = step.make("LayerNormalization", step.x(), scale, *bias, axis=axis, epsilon=step.attr("eps"))
    if step.has(1) and not fits[0]:
        name = step.make("Mul", name, step.x(1))
    if step.has(2) and not bias:
        name = step.make("Add", name, step.x(2))
    step.give("Identity", name)


@NODE_RULES.rule("rms_norm")
def rms_norm(step: NodeWriter) -> None:
    """Write x / sqrt(mean x^2 + eps) * scale."""
    rank = len(step.out)
    axes = step.constant(list(range(step.attr("axis") % rank, rank)))
    mean = step.make("ReduceMean", step.make("Mul", step.x(), step.x()), axes, keepdims=1)
    root = step.make("Sqrt", step.make("Add", mean, step.constant(step.attr("eps"), step.dtype())))
    step.give("Mul", step.make("Div", step.x(), root), step.x(1))


@NODE_RULES.rule("batch_norm")
def batch_norm(step: NodeWriter) -> None:
    """Write normalization by given statistics: ONNX's own along axis 1, else as products and sums."""
    axis = step.attr("axis") % len(step.out)
    if axis == 1:
        step.give("BatchNormalization", *(step.x(index) for index in range(5)), epsilon=step.attr("eps"))
        return
    places = step.constant([size if place == axis else 1 for place, size in enumerate(step.out)])
    scale, bias, mean, var = (step.make("Reshape", step.x(index), places) for index in range(1, 5))
    root = step.make("Sqrt", step.make("Add", var, step.constant(step.attr("eps"), step.dtype())))
    scaled = step.make("Mul", step.make("Div", step.make("Sub", step.x(), mean), root), scale)
    step.give("Add", scaled, bias)


@NODE_RULES.rule("softmax", "log_softmax")
def softmax(step: NodeWriter) -> None:
    """Write softmax along an axis, or its logarithm."""
    if prod(step.out) == 0:
        step.give("Identity", step.x())
    else:
        step.give("Softmax" if step.mnemonic == "softmax" else "LogSoftmax", step.x(), axis=step.attr("axis"))
