"""Ops whose result has as many elements as the data decides have no gradients."""

from __future__ import annotations

from ttc.dialects.nn.gradients.base import no_gradient

no_gradient("its result is an integer", "nn.non_zero")
no_gradient("the shape of its result depends on data", "nn.compress", "nn.unique", "nn.range", "nn.one_hot")
