"""Attention as products and a softmax, and rotary embeddings as pieces."""

from __future__ import annotations

import numpy as np

from ttc.exporters.stablehlo.literals import HloValue
from ttc.exporters.stablehlo.rules import HLO_RULES
from ttc.exporters.stablehlo.rules.linear import product
from ttc.exporters.stablehlo.rules.norm import largest
from ttc.exporters.stablehlo.writer import HloWriter


@HLO_RULES.rule("attention")
def attention(step: HloWriter) -> HloValue:
    """Write softmax(q k^T * scale + mask) v; rows that are masked whole give zeros where the op says so."""
    scores = product(step, step.with_number("multiply", step.x(0), step.attr("scale")), step.x(1), flip_b=True)
    if step.has(3):
        scores = step.elementwise("add", scores, step.x(3))
    top, masked = largest(step, scores, -1), None
    if step.has(3) and step.attr("zero_masked"):
        masked = step.compare("EQ", top, step.filled(-np.inf, top))
        top = step.select(masked, step.filled(0, top), top)
    powers = step.make("exponential", step.elementwise("subtract", scores, top))
    total = step.reduce("add", powers, [-1], 0, keep=True)
    if masked is not None:
        total = step.select(masked, step.filled(1, total), total)
    return product(step, step.elementwise("divide", powers, total), step.x(2))


@HLO_RULES.rule("rotary_embedding")
def rotary_embedding(step: HloWriter) -> HloValue:
    """Write x * cos + turned(x) * sin, where turned exchanges the features of a pair."""
    shape, x = step.out, step.x()
    half = shape[-1] // 2
    paired = step.reshape(x, (*shape[:-1], half, 2)) if step.attr("interleaved") else x
    axis, size = len(paired.shape) - 1, paired.shape[-1] // 2
    first, second = step.cut(paired, axis, 0, size), step.cut(paired, axis, size, 2 * size)
    turned = step.reshape(step.join([step.make("negate", second), first], axis), shape)
    return step.make("add", step.elementwise("multiply", x, step.x(1)), step.elementwise("multiply", turned, step.x(2)))
