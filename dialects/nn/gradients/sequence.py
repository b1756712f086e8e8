"""Ops on sequences, which have no gradients."""

from __future__ import annotations

from ttc.dialects.nn.gradients.base import no_gradient

no_gradient(
    "sequences hold as many tensors as data decides",
    *("nn.sequence_insert", "nn.sequence_erase", "nn.sequence_at", "nn.sequence_join"),
)
