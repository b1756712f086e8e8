"""The op that stops gradients has none, and asks for none."""

from __future__ import annotations

from ttc.dialects.nn.gradients.base import no_gradient

no_gradient("it stops gradients", "nn.stop_gradient")
