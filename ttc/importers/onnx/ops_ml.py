"""Ops of ONNX's domain for classical machine learning, as far as they are on numbers."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error
from ttc.importers.common.builder import Builder
from ttc.importers.common.tracking import MAX_ELEMENTS
from ttc.importers.common.unsupported import Unsupported

DOMAIN = "ai.onnx.ml"
Ints: TypeAlias = tuple[int, ...]
FLOAT32 = np.dtype(np.float32)


def array_feature_extractor_1(b: Builder, x: SSAValue, columns: SSAValue) -> SSAValue:
    """Columns of the last dimension; a row of one dimension becomes a matrix."""
    shape = b.shape(x)
    x = b.reshape(x, 1, *shape) if len(shape) == 1 else x
    return b.nn("gather", x, b.reshape(columns, b.spec(columns).elements), axis=b.rank(x) - 1)


def binarizer_1(b: Builder, x: SSAValue, *, threshold: float = 0.0) -> SSAValue:
    """1 above the threshold, else 0."""
    return b.cast(b.nn("greater", x, b.scalar(threshold, x)), b.dtype(x))


MODES = ("less_equal", "less", "greater_equal", "greater", "equal", "not_equal", "member")
"""What a node of a tree asks of its feature, by ONNX's number."""


class Tree(NamedTuple):
    """Trees as matrices of nodes by leaves.

    Args:
        paths: [nodes, leaves]: 1 where a leaf lies under a node's true branch, -1 under its false one.
        weights: [leaves, targets].
    """

    paths: NDArray
    weights: NDArray


def tree_ensemble_5(
    b: Builder,
    x: SSAValue,
    *,
    aggregate_function: int = 1,
    leaf_targetids: Ints,
    leaf_weights: NDArray,
    membership_values: NDArray | None = None,
    n_targets: int,
    nodes_falseleafs: Ints,
    nodes_falsenodeids: Ints,
    nodes_featureids: Ints,
    nodes_hitrates: NDArray | None = None,
    nodes_missing_value_tracks_true: Ints = (),
    nodes_modes: NDArray,
    nodes_splits: NDArray,
    nodes_trueleafs: Ints,
    nodes_truenodeids: Ints,
    post_transform: int = 0,
    tree_roots: Ints,
) -> SSAValue:
    """x[n, features] -> [n, targets]: a leaf is reached where all conditions on its path hold, which a product of matrices counts."""
    if aggregate_function not in (0, 1) or post_transform not in (0, 1, 2):
        raise Unsupported(f"aggregate_function {aggregate_function} or post_transform {post_transform}")
    count = len(nodes_featureids)
    nodes_modes, nodes_splits, leaf_weights = nodes_modes.ravel(), nodes_splits.ravel(), leaf_weights.ravel()
    columns = (nodes_falseleafs, nodes_falsenodeids, nodes_modes, nodes_splits, nodes_trueleafs, nodes_truenodeids)
    if b.rank(x) != 2 or not count or any(len(column) != count for column in columns):
        raise Error("E0402", f"attributes of {count} nodes do not fit each other or {b.spec(x)}")
    if not 0 <= min(nodes_featureids) <= max(nodes_featureids) < b.shape(x)[1] or not set(nodes_modes.tolist()) <= set(range(len(MODES))):
        raise Error("E0402", f"features or modes of nodes do not fit {b.spec(x)}")
    nodes_modes = nodes_modes.astype(np.int64)
    branches = (nodes_truenodeids, nodes_trueleafs), (nodes_falsenodeids, nodes_falseleafs)
    tree = _tree(branches, tree_roots, (leaf_targetids, leaf_weights), n_targets)
    asked = Asked(nodes_featureids, nodes_modes, nodes_splits, nodes_missing_value_tracks_true)
    members = None if membership_values is None else membership_values.ravel().astype(np.float64)
    y = reached(b, x, asked, tree._replace(weights=tree.weights / (len(tree_roots) if aggregate_function == 0 else 1)), members)
    return y if not post_transform else b.nn("softmax", y, axis=1) if post_transform == 1 else b.nn("sigmoid", y)


class Asked(NamedTuple):
    """What nodes ask: of which feature, how, against which value, and whether a NaN holds (none: no node takes it so)."""

    features: Ints
    modes: NDArray
    splits: NDArray
    tracks: Ints


def reached(b: Builder, x: SSAValue, asked: Asked, tree: Tree, members: NDArray | None = None) -> SSAValue:
    """[n, targets]: sums of the weights of the leaves that rows of x[n, features] reach."""
    values = b.nn("gather", x, b.constant(np.array(asked.features, np.int64)), axis=1)
    holds = _conditions(b, values, asked.modes, asked.splits, members)
    if asked.tracks:
        if len(asked.tracks) != len(asked.features):
            raise Error("E0402", f"nodes_missing_value_tracks_true is not that of {len(asked.features)} nodes")
        holds = b.nn("or", holds, b.nn("and", b.nn("is_nan", values), b.constant(np.array(asked.tracks, bool))))
    met = _product(b, b.cast(holds, FLOAT32), tree.paths.astype(np.float32))
    found = b.nn("equal", met, b.constant((tree.paths > 0).sum(axis=0).astype(np.float32)))
    return _product(b, b.cast(found, b.dtype(x)), tree.weights.astype(b.dtype(x)))


def _tree(branches: tuple[tuple[Ints, Ints], tuple[Ints, Ints]], roots: Ints, leaves: tuple[Ints, NDArray], targets: int) -> Tree:
    """Walk from the roots to the leaves.  branches: of the condition that holds and of the one that does not: next, whether a leaf."""
    count, (ids, weights) = len(branches[0][0]), leaves
    if not 0 < targets <= 1 << 16 or len(ids) != len(weights) or count * len(ids) > MAX_ELEMENTS or len(ids) * targets > MAX_ELEMENTS:
        raise Unsupported(f"{count} nodes, {len(ids)} leaves or {targets} targets")
    found: list[tuple[NDArray, int]] = []
    visited: set[int] = set()
    stack = [(root, np.zeros(count, np.int8)) for root in roots]
    while stack:
        node, path = stack.pop()
        if not 0 <= node < count or node in visited:
            raise Error("E0402", f"node {node} does not exist or is reached twice")
        visited.add(node)
        for sign, (following, is_leaf) in zip((1, -1), branches, strict=True):
            beyond = path.copy()
            beyond[node] = sign
            if not is_leaf[node]:
                stack.append((following[node], beyond))
            elif 0 <= following[node] < len(ids) and 0 <= ids[following[node]] < targets:
                found.append((beyond, following[node]))
            else:
                raise Error("E0402", f"leaf {following[node]} or its target does not exist")
    matrix = np.zeros((len(found), targets))
    for row, (_, leaf) in enumerate(found):
        matrix[row, ids[leaf]] = weights[leaf]
    return Tree(np.stack([path for path, _ in found], axis=1), matrix)


def _conditions(b: Builder, values: SSAValue, modes: NDArray, splits: NDArray, members: NDArray | None) -> SSAValue:
    """[n, nodes]: whether each node's condition holds for its feature."""
    limits = b.constant(splits.astype(b.dtype(values)))
    found: SSAValue | None = None
    for mode in sorted({int(m) for m in modes}):
        if MODES[mode] == "member":
            one = _members(b, values, modes == mode, members)
        elif MODES[mode] == "not_equal":
            one = b.nn("not", b.nn("equal", values, limits))
        else:
            one = b.nn(MODES[mode], values, limits)
        found = one if found is None else b.nn("where", b.constant(modes == mode), one, found)
    if found is None:
        raise Error("E0402", "there are no nodes")
    return found


def _members(b: Builder, values: SSAValue, asking: NDArray, members: NDArray | None) -> SSAValue:
    """Whether values are among the members of their nodes: lists that each end in NaN, of the nodes that ask, in order."""
    ends = np.flatnonzero(np.isnan(members)) if members is not None else np.zeros(0, np.int64)
    if members is None or len(ends) != asking.sum():
        raise Error("E0402", f"{len(ends)} sets of members for {asking.sum()} nodes")
    widest = int(max(np.diff(ends, prepend=-1)))
    if widest * len(asking) > MAX_ELEMENTS:
        raise Unsupported("too many members")
    table = np.full((len(asking), widest), np.nan)
    for node, start, end in zip(np.flatnonzero(asking), [0, *(ends[:-1] + 1)], ends, strict=True):
        table[node, : end - start] = members[start:end]
    shape = b.shape(values)
    same = b.nn("equal", b.reshape(values, *shape, 1), b.constant(table.astype(b.dtype(values))))
    return b.cast(b.nn("reduce_max", b.cast(same, FLOAT32), axes=(2,), keepdims=False), np.dtype(np.bool_))


def _product(b: Builder, x: SSAValue, matrix: NDArray) -> SSAValue:
    return b.nn("matmul", x, b.constant(matrix), None, transpose_a=False, transpose_b=False)
