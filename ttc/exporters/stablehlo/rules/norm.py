"""Normalizations and softmax as what they are made of."""

from __future__ import annotations

from math import prod

import numpy as np

from ttc.exporters.stablehlo.literals import HloValue
from ttc.exporters.stablehlo.rules import HLO_RULES
from ttc.exporters.stablehlo.writer import HloWriter

HLO_RULES.refuse("training is not exported", "batch_norm_training")


@HLO_RULES.rule("layer_norm")
def layer_norm(step: HloWriter) -> HloValue:
    """Write (x - mean) / sqrt(variance + eps) * scale + bias."""
    axes = _axes(step)
    centred = step.elementwise("subtract", step.x(), _mean(step, step.x(), axes))
    made = _over_root(step, centred, _mean(step, step.make("multiply", centred, centred), axes))
    made = step.elementwise("multiply", made, step.x(1)) if step.has(1) else made
    return step.elementwise("add", made, step.x(2)) if step.has(2) else made


@HLO_RULES.rule("rms_norm")
def rms_norm(step: HloWriter) -> HloValue:
    """Write x / sqrt(mean x^2 + eps) * scale."""
    square = step.make("multiply", step.x(), step.x())
    return step.elementwise("multiply", _over_root(step, step.x(), _mean(step, square, _axes(step))), step.x(1))


@HLO_RULES.rule("batch_norm")
def batch_norm(step: HloWriter) -> HloValue:
    """Write (x - mean) * (scale / sqrt(var + eps)) + bias, for vectors along an axis."""
    scale, bias, mean, var = (step.x(index) for index in range(1, 5))
    factor = _over_root(step, scale, var)
    mean, factor, bias = (step.spread(vector, step.out, [step.attr("axis") % len(step.out)]) for vector in (mean, factor, bias))
    return step.make("add", step.make("multiply", step.make("subtract", step.x(), mean), factor), bias)


@HLO_RULES.rule("softmax")
def softmax(step: HloWriter) -> HloValue:
    """Write exp(x - max x) / sum exp(x - max x)."""
    x, axis = step.x(), step.attr("axis")
    powers = step.make("exponential", step.elementwise("subtract", x, largest(step, x, axis)))
    return step.elementwise("divide", powers, step.reduce("add", powers, [axis], 0, keep=True))


@HLO_RULES.rule("log_softmax")
def log_softmax(step: HloWriter) -> HloValue:
    """Write x - max x - log sum exp(x - max x)."""
    x, axis = step.x(), step.attr("axis")
    moved = step.elementwise("subtract", x, largest(step, x, axis))
    total = step.reduce("add", step.make("exponential", moved), [axis], 0, keep=True)
    return step.elementwise("subtract", moved, step.make("log", total))


def largest(step: HloWriter, x: HloValue, axis: int) -> HloValue:
    """Write the largest float along an axis, which stays with size 1."""
    return step.reduce("maximum", x, [axis], -np.inf, keep=True)


def _axes(step: HloWriter) -> range:
    rank = len(step.out)
    return range(step.attr("axis") % rank, rank)


def _mean(step: HloWriter, x: HloValue, axes: range) -> HloValue:
    """Write the mean over axes, which stay with size 1."""
    total = step.reduce("add", x, axes, 0, keep=True)
    return step.with_number("divide", total, prod(x.shape[axis] for axis in axes))


def _over_root(step: HloWriter, value: HloValue, square: HloValue) -> HloValue:
    """Write a value divided by the root of another plus eps."""
    return step.elementwise("divide", value, step.make("sqrt", step.with_number("add", square, step.attr("eps"))))
