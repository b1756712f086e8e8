"""Gradients of rows in blocks: there are none."""

from __future__ import annotations

from ttc.dialects.nn.gradients.base import no_gradient

no_gradient("gradients are taken before rows are cut into blocks", "nn.row_blocks")
