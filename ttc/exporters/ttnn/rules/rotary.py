"""Rotary position embeddings as slices, products and a sum."""

from __future__ import annotations

import numpy as np

from ttc.exporters.ttnn.code import call, items, numbers
from ttc.exporters.ttnn.op_text import OpText
from ttc.exporters.ttnn.rules import RULES


@RULES.rule("rotary_embedding")
def rotary_embedding(step: OpText) -> None:
    """Write the rotation as x * cos + turned * sin, which takes any length and any cos and sin."""
    name = step.full(0)
    turned = _turned_pairs(step, name) if step.work.attrs["interleaved"] else _turned_halves(step, name)
    cosine = step.let("cosine", call("ttnn.multiply", name, step.full(1)))
    sine = step.let("sine", call("ttnn.multiply", turned, step.full(2)))
    step.give(call("ttnn.add", cosine, sine))


def _turned_pairs(step: OpText, name: str) -> str:
    """Return [-x1, x0, -x3, x2, ...], a product with a matrix of ones, of which each column has one."""
    features = step.shape[-1]
    matrix = np.zeros((features, features), np.float32)
    even = np.arange(0, features, 2)
    matrix[even + 1, even], matrix[even, even + 1] = -1, 1
    turning = step.emitter.made_weight(f"turning.{features}", matrix)
    made = call("ttnn.matmul", name, turning, dtype=f"ttnn.{step.emitter.format}", compute_kernel_config=step.config)
    return step.let("turned", made)


def _turned_halves(step: OpText, name: str) -> str:
    """Return [-x2, x1] of the halves x1 and x2."""
    shape = step.shape
    half = (*shape[:-1], shape[-1] // 2)
    zeros = [0] * len(shape)
    middle = [*zeros[:-1], half[-1]]
    first = step.let("first", call("ttnn.slice", name, numbers(zeros, "[]"), numbers(half, "[]")), half)
    second = step.let("second", call("ttnn.slice", name, numbers(middle, "[]"), numbers(shape, "[]")), half)
    negative = step.let("negative", call("ttnn.neg", second), half)
    return step.let("turned", call("ttnn.concat", items([negative, first], "[]"), dim="-1"))
