"""Ops on bits have no gradients."""

from __future__ import annotations

from ttc.dialects.nn.gradients.base import no_gradient

no_gradient("it computes with integers", "nn.bitwise_and", "nn.bitwise_or", "nn.bitwise_xor", "nn.shift_left", "nn.shift_right")
no_gradient("it gives bits another meaning", "nn.bitcast")
