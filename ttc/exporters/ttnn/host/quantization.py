"""Steps between integers and the real numbers that they stand for, on the host."""

from __future__ import annotations

import numpy as np

from ttc.exporters.ttnn.code import call
from ttc.exporters.ttnn.host import HOST_RULES
from ttc.exporters.ttnn.op_text import OpText


@HOST_RULES.rule("quantize")
def quantize(step: OpText) -> None:
    """Write x / scale, rounded, plus zero, within the range of zero's dtype."""
    dtype = step.results[0].dtype
    limits = np.iinfo(dtype)
    steps = step.emitter.let("steps", f"torch.round({step.host(0)} / {step.host(1)}).to(torch.float64) + {step.host(2)}")
    step.torch(f"{steps}.clamp({limits.min}, {limits.max}).to(torch.{dtype})")


@HOST_RULES.rule("dequantize")
def dequantize(step: OpText) -> None:
    """Write (x - zero) * scale."""
    steps = step.emitter.let("steps", f"{step.host(0)}.to(torch.float32) - {step.host(2)}.to(torch.float32)")
    step.torch(call("torch.mul", steps, step.host(1)))
