"""The condition that ends the search for class probabilities that agree with probabilities of pairs."""

from __future__ import annotations

ROUNDS = 100
TOLERANCE = 0.005
"""The error below which iterations end, times the number of classes."""
