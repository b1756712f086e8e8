"""Rotary position embeddings as slices, products and a sum."""

from __future__ import annotations

from ttc.exporters.ttnn.code import call, items, numbers
from ttc.exporters.ttnn.op_text import Elsewhere, OpText
from ttc.exporters.ttnn.rules import RULES


@RULES.rule("rotary_embedding")
def rotary_embedding(step: OpText) -> None:
    """Write the rotation of halves as x * cos + [-x2, x1] * sin, which takes any length and any cos and sin."""
    if step.work.attrs["interleaved"]:
        raise Elsewhere("its pairs are interleaved")
    name, shape = step.full(0), step.shape
    half = (*shape[:-1], shape[-1] // 2)
    zeros = [0] * len(shape)
    middle = [*zeros[:-1], half[-1]]
    first = step.let("first", call("ttnn.slice", name, numbers(zeros, "[]"), numbers(half, "[]")), half)
    second = step.let("second", call("ttnn.slice", name, numbers(middle, "[]"), numbers(shape, "[]")), half)
    negative = step.let("negative", call("ttnn.neg", second), half)
    turned = step.let("turned", call("ttnn.concat", items([negative, first], "[]"), dim="-1"))
    cosine = step.let("cosine", call("ttnn.multiply", name, step.full(1)))
    sine = step.let("sine", call("ttnn.multiply", turned, step.full(2)))
    step.give(call("ttnn.add", cosine, sine))
