"""Ensembles of trees, which have no gradients."""

from __future__ import annotations

from ttc.dialects.nn.gradients.base import no_gradient

no_gradient("it decides by comparisons", "nn.tree_ensemble")
