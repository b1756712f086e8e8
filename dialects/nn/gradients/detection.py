"""Ops of detection, which have no gradient."""

from __future__ import annotations

from ttc.dialects.nn.gradients.base import no_gradient

no_gradient("its result is an integer", "nn.non_max_suppression")
