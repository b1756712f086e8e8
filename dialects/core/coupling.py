"""When the search for probabilities of classes that fit those of pairs ends."""

from __future__ import annotations

ROUNDS = 100
TOLERANCE = 0.005
"""Of an error, over the number of classes."""
