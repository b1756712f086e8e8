"""When the search for probabilities of classes that fit those of pairs ends."""

from __future__ import annotations

ROUNDS = 100
TOLERANCE = 0.005
"""The error below which iterations end, times the number of classes."""
