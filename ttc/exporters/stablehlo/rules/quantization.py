"""Steps between integers and the real numbers that they stand for."""

from __future__ import annotations

import numpy as np

from ttc.exporters.stablehlo.literals import HloValue
from ttc.exporters.stablehlo.rules import HLO_RULES
from ttc.exporters.stablehlo.writer import HloWriter


@HLO_RULES.rule("quantize")
def quantize(step: HloWriter) -> HloValue:
    """Write x / scale rounded, plus zero, within the range of zero's dtype; what is no number counts as 0."""
    limits = np.iinfo(step.out_dtype)
    exact = np.dtype(np.float64) if step.out_dtype.itemsize > 2 else np.dtype(np.float32)  # limits of 32 bits are no numbers of float32
    rounded = step.make("round_nearest_even", step.elementwise("divide", step.x(0), step.x(1)))
    moved = step.elementwise("add", step.convert(rounded, exact), step.convert(step.x(2), exact))
    moved = step.select(step.compare("EQ", moved, moved), moved, step.filled(0, moved))
    low, high = (step.constant(limit, exact) for limit in (limits.min, limits.max))
    return step.convert(step.make("clamp", low, moved, high, shape=moved.shape), step.out_dtype)


@HLO_RULES.rule("dequantize")
def dequantize(step: HloWriter) -> HloValue:
    """Write (x - zero) * scale."""
    wide = np.int64 if step.x(0).dtype.itemsize > 2 else np.int32
    distance = step.elementwise("subtract", *(step.convert(step.x(index), wide) for index in (0, 2)))
    return step.elementwise("multiply", step.convert(distance, step.out_dtype), step.x(1))
