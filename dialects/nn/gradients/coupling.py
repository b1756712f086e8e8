"""Coupled probabilities have no gradient."""

from __future__ import annotations

from ttc.dialects.nn.gradients.base import no_gradient

no_gradient("it goes on step by step until errors are small, so that data decide how often", "nn.couple_probabilities")
