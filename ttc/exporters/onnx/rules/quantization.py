"""Steps between integers and the real numbers that they stand for."""

from __future__ import annotations

import numpy as np

from ttc.exporters.onnx.rules import NODE_RULES
from ttc.exporters.onnx.writer import NodeWriter, element_type


@NODE_RULES.rule("quantize")
def quantize(step: NodeWriter) -> None:
    """Write x / scale rounded, plus zero, within the range of zero's dtype: scales may broadcast as they like."""
    limits = np.iinfo(step.out_dtype)
    exact = np.dtype(np.float64) if step.out_dtype.itemsize > 2 else step.dtype(0)  # limits of 32 bits are no numbers of float32
    rounded = step.make("Round", step.make("Div", step.x(0), step.x(1)))
    if exact != step.dtype(0):
        rounded = step.make("Cast", rounded, to=element_type(exact))
    moved = step.make("Add", rounded, step.make("Cast", step.x(2), to=element_type(exact)))
    clipped = step.make("Clip", moved, *(step.constant(limit, exact) for limit in (limits.min, limits.max)))
    step.give("Cast", clipped, to=element_type(step.out_dtype))


@NODE_RULES.rule("dequantize")
def dequantize(step: NodeWriter) -> None:
    """Write (x - zero) * scale."""
    values = [step.make("Cast", step.x(index), to=element_type(step.out_dtype)) for index in (0, 2)]
    step.give("Mul", step.make("Sub", *values), step.x(1))
