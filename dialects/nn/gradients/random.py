"""Random numbers have no gradients."""

from __future__ import annotations

from ttc.dialects.nn.gradients.base import no_gradient

no_gradient("it draws numbers from an integer", "nn.random_uniform", "nn.random_normal")
