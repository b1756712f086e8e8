"""What an ensemble of decision trees can be made of, as checks and kernels of all levels have it."""

from __future__ import annotations

AGGREGATES = ("sum", "min", "max")
"""How the weights of the leaves that a row reaches are put together."""
COLUMNS = 4
"""Numbers of a node: its feature, whether NaN takes the first branch, the first branch, the second."""
MAX_TARGETS = 1 << 20
