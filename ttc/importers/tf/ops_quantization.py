"""Numbers rounded to those that narrow integers stand for, as training for quantization leaves them."""

from __future__ import annotations

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.tf.tables import Rows


def fake_quant_args(
    b: Builder, inputs: SSAValue, *, min: float = -6.0, max: float = 6.0, num_bits: int = 8, narrow_range: bool = False
) -> SSAValue:
    return _rounded(b, inputs, np.array(min), np.array(max), num_bits, narrow_range)


def fake_quant(b: Builder, inputs: SSAValue, min: SSAValue, max: SSAValue, *, num_bits: int = 8, narrow_range: bool = False) -> SSAValue:
    """Return a row that rounds to quantized numbers, with one range for all, or one a channel, the last dimension."""
    return _rounded(b, inputs, b.need(min, "min"), b.need(max, "max"), num_bits, narrow_range)


def _rounded(b: Builder, x: SSAValue, low: np.ndarray, high: np.ndarray, bits: int, narrow: bool) -> SSAValue:
    """Clipped to the range, moved so that 0 is one of its steps, then to the nearest step.  Raises E0402."""
    low, high = np.asarray(low, np.float32), np.asarray(high, np.float32)
    if not 2 <= bits <= 16 or low.shape != high.shape or low.ndim > 1 or not (low < high).all():
        raise Error(
            "E0402", f"a range from {low.ravel()[:4]} to {high.ravel()[:4]} in {bits} bits cannot be used: it rises, in 2 to 16 bits"
        )
    first, last = np.float32(1 if narrow else 0), np.float32((1 << bits) - 1)
    scale = (high - low) / (last - first)
    zero = np.clip(np.floor(first - low / scale + np.float32(0.5)), first, last)
    low, high = (first - zero) * scale, (last - zero) * scale
    inside = b.nn("minimum", b.nn("maximum", x, b.constant(low)), b.constant(high))
    steps = b.nn("mul", b.nn("sub", inside, b.constant(low)), b.constant((1 / scale).astype(np.float32)))
    whole = b.nn("floor", b.nn("add", steps, b.constant(np.float32(0.5))))
    return b.nn("add", b.nn("mul", whole, b.constant(scale)), b.constant(low))


ROWS: Rows = {
    "FakeQuantWithMinMaxArgs": fake_quant_args,
    "FakeQuantWithMinMaxVars": fake_quant,
    "FakeQuantWithMinMaxVarsPerChannel": fake_quant,
}
