"""Shapes of ensembles of decision trees."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.kernels.trees import AGGREGATES, COLUMNS, MAX_TARGETS
from ttc.dialects.core.shapes import Shape, require_rank


def tree_ensemble(
    x: Shape, nodes: Shape, splits: Shape, roots: Shape, weights: Shape, targets: Shape | None = None, *, aggregate: str, count: int
) -> Shape:
    """Return [n, count] for x[n, f].  Raises E0401, E0402."""
    if aggregate not in AGGREGATES or not 1 <= count <= MAX_TARGETS:
        raise Error("E0402", f"aggregate '{aggregate}' or {count} targets are out of range")
    for operand, rank in ((x, 2), (nodes, 2), (splits, 1), (roots, 1), (weights, 2), (targets, 2)):
        if operand is not None:
            require_rank(operand, rank)
    suits = nodes == (splits[0], COLUMNS) and min(*x[1:], *nodes, *roots, *weights) >= 1
    if not suits or (targets != weights if targets is not None else weights[1] != count):
        parts = ", ".join(str(list(operand)) for operand in (nodes, splits, roots, weights, targets or ()))
        raise Error("E0401", f"nodes, splits, roots, weights and targets {parts} do not suit each other or {list(x)}")
    return (x[0], count)
