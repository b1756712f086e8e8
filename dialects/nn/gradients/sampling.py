"""Ops that read images at computed positions: no rule of theirs exists."""

from __future__ import annotations

from ttc.dialects.nn.gradients.base import no_gradient

no_gradient("gradients of images that are read at computed positions are not supported", "nn.grid_sample", "nn.roi_align", "nn.deform_conv")
