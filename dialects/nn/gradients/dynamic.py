"""Views whose sizes are computed have no gradients."""

from __future__ import annotations

from ttc.dialects.nn.gradients.base import no_gradient

no_gradient("the shape of its result depends on data", "nn.dynamic_reshape", "nn.dynamic_expand", "nn.dynamic_slice")
