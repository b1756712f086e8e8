"""Shapes of ensembles of decision trees."""

from __future__ import annotations

from ttc.dialects.core.kernels.trees import AGGREGATES, COLUMNS, MAX_TARGETS
from ttc.runtime.engines.native.prepare.shape_rules import Shape, require


def tree_ensemble(
    x: Shape, nodes: Shape, splits: Shape, roots: Shape, weights: Shape, targets: Shape | None = None, *, aggregate: str, count: int
) -> Shape:
    """[n, count]."""
    require(aggregate in AGGREGATES and 1 <= count <= MAX_TARGETS, "an aggregate or targets out of range")
    require(len(x) == len(weights) == 2 and len(roots) == 1 and nodes == (*splits, COLUMNS), "nodes of another form")
    require(min(*x[1:], *splits, *roots, *weights) >= 1, "no features, nodes, trees or leaves")
    require(targets == weights if targets is not None else weights[1] == count, "weights of other targets")
    return (x[0], count)
