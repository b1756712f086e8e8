"""Ensembles of trees as ONNX had them before version 5 of its domain for machine learning: nodes by tree and number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error
from ttc.importers.common.builder import Builder
from ttc.importers.common.tracking import MAX_ELEMENTS
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.ops_ml import MODES, Asked, Ints, Tree, reached

DOMAIN = "ai.onnx.ml"
LEAF = "LEAF"
_MODES = {f"BRANCH_{name}": place for place, name in enumerate(("LEQ", "LT", "GTE", "GT", "EQ", "NEQ"))}
"""Places in MODES by ONNX's names."""
Floats: TypeAlias = tuple[float, ...]
Key: TypeAlias = tuple[int, int]
"""Of a node: its tree, and its number there."""


def tree_ensemble_regressor_1(
    b: Builder,
    x: SSAValue,
    *,
    aggregate_function: str = "SUM",
    base_values: Floats = (),
    n_targets: int = 1,
    nodes_falsenodeids: Ints = (),
    nodes_featureids: Ints = (),
    nodes_hitrates: Floats = (),
    nodes_missing_value_tracks_true: Ints = (),
    nodes_modes: tuple[str, ...] = (),
    nodes_nodeids: Ints = (),
    nodes_treeids: Ints = (),
    nodes_truenodeids: Ints = (),
    nodes_values: Floats = (),
    post_transform: str = "NONE",
    target_ids: Ints = (),
    target_nodeids: Ints = (),
    target_treeids: Ints = (),
    target_weights: Floats = (),
) -> SSAValue:
    """x[n, features] -> [n, targets].  A leaf may have weights for several targets, or for none."""
    after = {"NONE": None, "SOFTMAX": "softmax", "LOGISTIC": "sigmoid"}
    if aggregate_function not in ("SUM", "AVERAGE") or post_transform not in after:
        raise Unsupported(f"aggregate_function {aggregate_function[:20]} or post_transform {post_transform[:20]}")
    columns = (nodes_treeids, nodes_nodeids, nodes_featureids, nodes_modes, nodes_values, nodes_truenodeids, nodes_falsenodeids)
    if b.rank(x) != 2 or len({len(column) for column in columns}) != 1 or len(base_values) not in (0, n_targets):
        raise Error("E0402", f"attributes of {len(nodes_nodeids)} nodes do not fit each other or {b.spec(x)}")
    keys = list(zip(nodes_treeids, nodes_nodeids, strict=True))
    inner = [i for i, mode in enumerate(nodes_modes) if mode != LEAF]
    features = tuple(nodes_featureids[i] for i in inner)
    if not inner or not 0 <= min(features) <= max(features) < b.shape(x)[1] or not {nodes_modes[i] for i in inner} <= _MODES.keys():
        raise Error("E0402", f"features or modes of {len(inner)} nodes do not fit {b.spec(x)}")
    following = {keys[i]: ((keys[i][0], nodes_truenodeids[i]), (keys[i][0], nodes_falsenodeids[i])) for i in inner}
    leaves = [key for key, mode in zip(keys, nodes_modes, strict=True) if mode == LEAF]
    if len(set(keys)) != len(keys) or len(inner) * len(leaves) > MAX_ELEMENTS or not 0 < n_targets * len(leaves) <= MAX_ELEMENTS:
        raise Unsupported(f"{len(inner)} nodes, {len(leaves)} leaves and {n_targets} targets")
    weights = _weights(leaves, n_targets, target_treeids, target_nodeids, target_ids, target_weights)
    trees = len(dict.fromkeys(nodes_treeids))
    tree = Tree(_paths(following, leaves), weights / (trees if aggregate_function == "AVERAGE" else 1))
    tracks = tuple(nodes_missing_value_tracks_true[i] for i in inner) if len(nodes_missing_value_tracks_true) == len(keys) else ()
    modes = np.array([_MODES[nodes_modes[i]] for i in inner])
    assert modes.max() < len(MODES)
    x = b.cast(x, np.dtype(np.float32)) if b.dtype(x).kind in "iu" else x
    y = reached(b, x, Asked(features, modes, np.array([nodes_values[i] for i in inner]), tracks), tree)
    y = b.nn("add", y, b.constant(np.array(base_values).astype(b.dtype(x)))) if base_values else y
    name = after[post_transform]
    y = y if name is None else b.nn(name, y, axis=1) if name == "softmax" else b.nn(name, y)
    return b.cast(y, np.dtype(np.float32))


def _weights(leaves: Sequence[Key], targets: int, trees: Ints, nodes: Ints, ids: Ints, values: Floats) -> NDArray:
    """[leaves, targets].  Raises E0402 for a leaf or target that does not exist."""
    places = {key: row for row, key in enumerate(leaves)}
    found = np.zeros((len(leaves), targets))
    if not len(trees) == len(nodes) == len(ids) == len(values):
        raise Error("E0402", f"{len(values)} weights are not those of {len(ids)} targets")
    for tree, node, target, value in zip(trees, nodes, ids, values, strict=True):
        if (tree, node) not in places or not 0 <= target < targets:
            raise Error("E0402", f"leaf {node} of tree {tree} or target {target} does not exist")
        found[places[tree, node], target] += value
    return found


def _paths(following: Mapping[Key, tuple[Key, Key]], leaves: Sequence[Key]) -> NDArray:
    """[nodes, leaves], as Tree has it.  Raises E0402 for nodes that are reached twice, or do not exist."""
    parents: dict[Key, tuple[int, int]] = {}
    names = list(following)
    for place, key in enumerate(names):
        for sign, child in zip((1, -1), following[key], strict=True):
            if child in parents:
                raise Error("E0402", f"node {child[1]} of tree {child[0]} is reached twice")
            parents[child] = place, sign
    roots = [tree for tree, _ in (*following, *leaves) if (tree, _) not in parents]
    if len(set(roots)) != len(roots):
        raise Error("E0402", "a tree has several roots")
    missing = parents.keys() - following.keys() - set(leaves)
    if missing:
        raise Error("E0402", f"node {min(missing)[1]} of tree {min(missing)[0]} does not exist")
    found = np.zeros((len(names), len(leaves)), np.int8)
    for column, leaf in enumerate(leaves):
        at, steps = leaf, 0
        while at in parents:
            place, sign = parents[at]
            found[place, column] = sign
            at, steps = names[place], steps + 1
            if steps > len(names):
                raise Error("E0402", f"tree {leaf[0]} has a cycle")
    return found
