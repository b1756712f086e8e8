"""Tile ops that compute what the nn op of their name computes, on the same operands and attributes."""

from __future__ import annotations

from ttc.dialects.core.plain.interpret import kernel
from ttc.dialects.tile.kernels import KERNELS

SHARED = """
    argmax argmin attention concat couple_probabilities cumprod cumsum deform_conv det fft gather gather_elements gather_nd grid_sample gru
    irfft layer_norm log_softmax lstm resize resize_by reverse_sequence rms_norm rnn roi_align scatter_elements scatter_nd slice softmax
    transpose tree_ensemble
"""

for name in SHARED.split():
    KERNELS.add(name, kernel(f"nn.{name}"))
