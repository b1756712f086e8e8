"""Ops on text have no gradients."""

from __future__ import annotations

from ttc.dialects.nn.gradients.base import no_gradient

no_gradient(
    "it works on text",
    *("nn.string_concat", "nn.string_split", "nn.string_normalize", "nn.regex_full_match", "nn.string_index"),
)
