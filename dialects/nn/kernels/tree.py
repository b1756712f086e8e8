"""Numpy semantics of ensembles of decision trees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.nn.kernels import KERNELS


@KERNELS.rule("tree_ensemble")
def tree_ensemble(
    x: NDArray,
    nodes: NDArray,
    splits: NDArray,
    roots: NDArray,
    weights: NDArray,
    targets: NDArray | None = None,
    *,
    aggregate: str,
    count: int,
) -> NDArray:
    """Compute all rows together, one node of every tree at a time; then combine the weights of their leaves tree by tree."""
    _check(x.shape[1], nodes, roots, len(weights), targets, count)
    leaves = _reached(x, nodes, splits, roots)
    together = {"sum": np.add, "min": np.fmin, "max": np.fmax}[aggregate]
    y = np.full((len(x), count), 0 if aggregate == "sum" else np.nan, x.dtype)
    rows = np.arange(len(x))
    for leaf in leaves.T:
        for column in range(weights.shape[1]):
            if targets is None:
                y[:, column] = together(y[:, column], weights[leaf, column])
                continue
            target = targets[leaf, column]
            has = target >= 0
            place = rows[has], target[has]
            y[place] = together(y[place], weights[leaf[has], column])
    return y if aggregate == "sum" else np.where(np.isnan(y), x.dtype.type(0), y)


def _reached(x: NDArray, nodes: NDArray, splits: NDArray, roots: NDArray) -> NDArray:
    """[n, trees]: the leaf of each tree that a row reaches."""
    at = np.broadcast_to(roots.astype(np.int64), (len(x), len(roots))).copy()
    row, tree = np.nonzero(at >= 0)
    while len(row):
        node = at[row, tree]
        value = x[row, nodes[node, 0]]
        first = (value <= splits[node]) | (np.isnan(value) & (nodes[node, 1] != 0))
        following = np.where(first, nodes[node, 2], nodes[node, 3])
        at[row, tree] = following
        row, tree = row[following >= 0], tree[following >= 0]
    return ~at


def _check(features: int, nodes: NDArray, roots: NDArray, leaves: int, targets: NDArray | None, count: int) -> None:
    """Raises E0802 for what is not there; branches lead on, so that every walk ends."""
    numbers = np.arange(len(nodes))
    for first, branch in ((0, roots), (numbers + 1, nodes[:, 2]), (numbers + 1, nodes[:, 3])):
        if np.any((branch >= 0) & ((branch < first) | (branch >= len(nodes)))) or np.any(branch < -leaves):
            raise Error("E0802", f"a branch leads to no later node of {len(nodes)}, and to none of {leaves} leaves")
    if np.any((nodes[:, 0] < 0) | (nodes[:, 0] >= features)):
        raise Error("E0802", f"a node asks for a feature that is not among the {features} of a row")
    if targets is not None and np.any((targets < -1) | (targets >= count)):
        raise Error("E0802", f"a leaf has a weight for a target that is not among {count}")
