"""Ensembles of trees: by arrays of nodes and leaves since version 5 of ONNX's domain for machine learning, by tree and number before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.kernels.trees import MAX_TARGETS
from ttc.dialects.core.records import record
from ttc.importers.common.builder import Builder
from ttc.importers.common.tracking import MAX_ELEMENTS
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.forests import MODES, Forest, Questions, forest_of
from ttc.importers.onnx.scores import FLOAT32, TRANSFORMS, Labels, Scored, of_two_classes, require_transform, rows_of, transformed
from ttc.importers.onnx.tables import MAPPINGS

LEAF = "LEAF"
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
"""Ways to combine the outputs of trees, in the order of ONNX's numbers."""
_MODES = {LEAF: -1} | {f"BRANCH_{name}": place for place, name in enumerate(("LEQ", "LT", "GTE", "GT", "EQ", "NEQ"))}
Ints: TypeAlias = tuple[int, ...]
Floats: TypeAlias = tuple[float, ...]


class LeafWeights(NamedTuple):
    """The weights of leaves: values[leaves, k], and what each is for: targets[leaves, k], -1 for nothing; None: column t for target t."""

    values: NDArray
    targets: NDArray | None


@record
class ListedNodes:
    """Nodes by tree and number, leaves among them: the attributes that classifiers and regressors share."""

    nodes_falsenodeids: Ints = ()
    nodes_featureids: Ints = ()
    nodes_hitrates: Floats = ()
    nodes_hitrates_as_tensor: NDArray | None = None
    nodes_missing_value_tracks_true: Ints = ()
    nodes_modes: tuple[str, ...] = ()
    nodes_nodeids: Ints = ()
    nodes_treeids: Ints = ()
    nodes_truenodeids: Ints = ()
    nodes_values: Floats = ()
    nodes_values_as_tensor: NDArray | None = None

    @property
    def values(self) -> NDArray:
        """The numbers that nodes compare with."""
        return _numbers(self.nodes_values, self.nodes_values_as_tensor)


@MAPPINGS.rule("ai.onnx.ml.TreeEnsembleRegressor-1")
def tree_ensemble_regressor_1(
    b: Builder,
    x: SSAValue,
    *,
    aggregate_function: str = "SUM",
    base_values: Floats = (),
    base_values_as_tensor: NDArray | None = None,
    n_targets: int = 1,
    post_transform: str = "NONE",
    target_ids: Ints = (),
    target_nodeids: Ints = (),
    target_treeids: Ints = (),
    target_weights: Floats = (),
    target_weights_as_tensor: NDArray | None = None,
    **nodes: Any,
) -> SSAValue:
    """Return float32 [n, targets] of x[n, features]; a leaf may have weights for several targets, or for none."""
    require_transform(post_transform)
    weights = _numbers(target_weights, target_weights_as_tensor)
    base = _numbers(base_values, base_values_as_tensor)
    if len(base) not in (0, n_targets):
        raise Error("E0402", f"{len(base)} base values do not fit {n_targets} targets")
    listed, x = ListedNodes(**nodes), rows_of(b, x)
    y = _sums(b, x, listed, (target_treeids, target_nodeids, target_ids, weights), n_targets, aggregate_function)
    return b.cast(transformed(b, _with_base(b, y, base), post_transform), FLOAT32)


@MAPPINGS.rule("ai.onnx.ml.TreeEnsembleClassifier-1")
def tree_ensemble_classifier_1(
    b: Builder,
    x: SSAValue,
    *,
    base_values: Floats = (),
    base_values_as_tensor: NDArray | None = None,
    class_ids: Ints = (),
    class_nodeids: Ints = (),
    class_treeids: Ints = (),
    class_weights: Floats = (),
    class_weights_as_tensor: NDArray | None = None,
    classlabels_int64s: Ints = (),
    classlabels_strings: tuple[str, ...] = (),
    post_transform: str = "NONE",
    **nodes: Any,
) -> Scored:
    """Return labels [n] and scores [n, classes], float32, of x[n, features].

    Where all weights of two classes are for the first, they are the score of the second: above 1/2, or above 0 if some are negative, it is
    the second.
    """
    require_transform(post_transform)
    labels, listed = Labels.of(classlabels_int64s, classlabels_strings), ListedNodes(**nodes)
    weights, base = _numbers(class_weights, class_weights_as_tensor), _numbers(base_values, base_values_as_tensor)
    is_one_for_two = labels.count == 2 and bool(class_ids) and not any(class_ids)
    if len(base) not in (0, 1 if is_one_for_two else labels.count):
        raise Unsupported(f"{len(base)} base values for {labels.count} classes")
    x, entries = rows_of(b, x), (class_treeids, class_nodeids, class_ids, weights)
    if is_one_for_two:
        y = _with_base(b, _sums(b, x, listed, entries, 1, "SUM"), base)
        is_share = bool((weights >= 0).all())
        named = labels.of_two(b, b.nn("greater", y, b.scalar(0.5 if is_share else 0, y)))
        return named, b.cast(of_two_classes(b, y, post_transform, is_share=is_share), FLOAT32)
    y = _with_base(b, _sums(b, x, listed, entries, labels.count, "SUM"), base)
    eligible = y
    if not len(base) and not _reaches_all(listed, class_treeids, class_ids, labels.count):
        reached = _sums(b, x, listed, (*entries[:3], np.ones(len(weights), weights.dtype)), labels.count, "MAX")
        eligible = b.nn("where", b.nn("greater", reached, b.scalar(0, reached)), y, b.scalar(-np.inf, y))
    return labels.of_largest(b, eligible), b.cast(transformed(b, y, post_transform), FLOAT32)


@MAPPINGS.rule("ai.onnx.ml.TreeEnsemble-5")
def tree_ensemble_5(
    b: Builder,
    x: SSAValue,
    *,
    aggregate_function: int = 1,
    leaf_targetids: Ints,
    leaf_weights: NDArray,
    membership_values: NDArray | None = None,
    n_targets: int = 1,
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
    """Return [n, targets] of x[n, features], in x's dtype."""
    count, weights = len(nodes_featureids), leaf_weights.ravel()
    tracks = nodes_missing_value_tracks_true or (0,) * count
    columns = (nodes_falseleafs, nodes_falsenodeids, nodes_modes.ravel(), nodes_splits.ravel(), nodes_trueleafs, nodes_truenodeids, tracks)
    if not count or any(len(column) != count for column in columns) or len(weights) != len(leaf_targetids):
        raise Error("E0402", f"attributes of {count} nodes or of {len(weights)} leaves do not fit each other")
    if not 0 <= aggregate_function < len(AGGREGATES) or not 0 <= post_transform < len(TRANSFORMS):
        raise Error("E0402", f"aggregate_function {aggregate_function} or post_transform {post_transform} is out of range")
    modes = nodes_modes.ravel().astype(np.float64)
    if not np.isin(modes, range(len(MODES))).all():
        raise Error("E0402", "a node has a mode that ONNX does not have")
    sets = [] if membership_values is None else _sets(membership_values.ravel())
    if len(sets) != np.count_nonzero(modes == MODES.index("member")):
        raise Error("E0402", f"{len(sets)} sets of members do not fit {np.count_nonzero(modes == MODES.index('member'))} nodes")
    branches = ((nodes_truenodeids, nodes_trueleafs), (nodes_falsenodeids, nodes_falseleafs))
    holds, fails = (np.where(np.array(is_leaf, bool), -1 - np.maximum(ids, -1), ids) for ids, is_leaf in branches)
    if min(map(min, (nodes_truenodeids, nodes_falsenodeids, tree_roots)), default=0) < 0:
        raise Error("E0402", "a node or leaf has a negative number")
    asked = Questions(np.array(nodes_featureids), modes.astype(np.int64), nodes_splits.ravel(), np.array(tracks, bool), holds, fails, sets)
    x = rows_of(b, x)
    forest = forest_of(asked, np.array(tree_roots, np.int64), b.shape(x)[1], len(weights), b.dtype(x))
    entries = np.arange(len(weights)), np.array(leaf_targetids, np.int64), weights
    y = _ensemble(b, x, forest, _weights(len(weights), *entries, n_targets), n_targets, AGGREGATES[aggregate_function])
    return transformed(b, y, TRANSFORMS[post_transform])


def _numbers(floats: Floats, tensor: NDArray | None) -> NDArray:
    """Return the one of two attributes that is given."""
    return np.array(floats, np.float32) if tensor is None else tensor.ravel()


def _with_base(b: Builder, y: SSAValue, base: NDArray) -> SSAValue:
    return b.nn("add", y, b.constant(base.astype(b.dtype(y)))) if len(base) else y


def _sets(values: NDArray) -> list[NDArray]:
    """Sets that each end in NaN.  Raises E0402 if the last does not."""
    ends = np.flatnonzero(np.isnan(values))
    if len(values) and (not len(ends) or ends[-1] != len(values) - 1):
        raise Error("E0402", "the last set of members does not end in NaN")
    return np.split(values, ends + 1)[:-1] if len(values) else []


def _ensemble(b: Builder, x: SSAValue, forest: Forest, weights: LeafWeights, count: int, aggregate: str) -> SSAValue:
    """Scores y[n, count] of x's dtype."""
    operands = (forest.nodes, forest.splits, forest.roots, weights.values.astype(b.dtype(x)))
    targets = None if weights.targets is None else b.constant(weights.targets.astype(np.int32))
    kind = "sum" if aggregate == "AVERAGE" else aggregate.lower()
    y = b.nn("tree_ensemble", x, *map(b.constant, operands), targets, aggregate=kind, count=count)
    return b.nn("div", y, b.scalar(len(forest.roots), y)) if aggregate == "AVERAGE" else y


def _weights(leaves: int, leaf: NDArray, target: NDArray, values: NDArray, count: int) -> LeafWeights:
    """Entries (leaf, target, value) as a table.  Raises E0402 for a target that does not exist, Unsupported for too large a table."""
    if not 1 <= count <= MAX_TARGETS or (len(target) and not 0 <= target.min() <= target.max() < count):
        raise Error("E0402", f"a leaf has a weight for a target that is not among {count}")
    each = np.bincount(leaf, minlength=leaves)
    width = max(int(each.max(initial=1)), 1)
    if leaves * width > MAX_ELEMENTS:
        raise Unsupported(f"{leaves} leaves with up to {width} weights")
    order = np.argsort(leaf, kind="stable")
    column = np.arange(len(leaf)) - (np.cumsum(each) - each)[leaf[order]]
    found, targets = np.zeros((leaves, width), values.dtype), np.full((leaves, width), -1, np.int64)
    found[leaf[order], column], targets[leaf[order], column] = values[order], target[order]
    return LeafWeights(found, None if width == count and (targets == np.arange(width)).all() else targets)


# ---- nodes by tree and number ----------------------------------------------------------------------------------------------------------


def _sums(b: Builder, x: SSAValue, listed: ListedNodes, entries: tuple[Ints, Ints, Ints, NDArray], count: int, aggregate: str) -> SSAValue:
    """Scores of x[n, features].  entries: tree, node, target and value of each weight."""
    if aggregate not in AGGREGATES:
        raise Error("E0402", f"aggregate_function '{aggregate[:40]}' is not one of {', '.join(AGGREGATES)}")
    values = listed.values
    is_double = any(dtype == np.float64 for dtype in (b.dtype(x), values.dtype, entries[3].dtype))
    x = b.cast(x, np.dtype(np.float64) if is_double else FLOAT32)
    keys = _Keys(listed.nodes_treeids, listed.nodes_nodeids)
    is_leaf, asked, roots = _questions(listed, keys, values)
    leaf_of = np.cumsum(is_leaf) - 1
    forest = forest_of(asked, roots, b.shape(x)[1], int(is_leaf.sum()), b.dtype(x))
    trees, nodes, targets, weights = entries
    if not len(trees) == len(nodes) == len(targets) == len(weights):
        raise Error("E0402", f"{len(weights)} weights are not those of {len(targets)} targets")
    places = keys.places(np.array(trees, np.int64), np.array(nodes, np.int64))
    if not is_leaf[places].all():
        raise Error("E0402", "a node that is no leaf has a weight")
    table = _weights(int(is_leaf.sum()), leaf_of[places], np.array(targets, np.int64), weights, count)
    if count == 1 and aggregate in ("SUM", "AVERAGE") and table.values.shape[1] == 1:
        table = LeafWeights(table.values, None)  # leaves without a weight have 0 already
    return _ensemble(b, x, forest, table, count, aggregate)


class _Keys:
    """Finds nodes by tree and number."""

    def __init__(self, trees: Sequence[int], nodes: Sequence[int]) -> None:
        self._trees, self.first, self.tree = np.unique(np.array(trees, np.int64), return_index=True, return_inverse=True)
        numbers = np.array(nodes, np.int64)
        if len(trees) != len(nodes) or not len(nodes) or numbers.min() < 0 or numbers.max() > 1 << 31 or len(nodes) > 1 << 28:
            raise Error("E0402", f"{len(trees)} trees do not fit {len(nodes)} nodes, or their numbers are out of range")
        self._keys = self.tree << 32 | numbers
        self._order = np.argsort(self._keys, kind="stable")
        self._sorted = self._keys[self._order]
        if (self._sorted[1:] == self._sorted[:-1]).any():
            raise Error("E0402", "a tree has two nodes of one number")

    def places(self, trees: NDArray, nodes: NDArray) -> NDArray:
        """Return the places of nodes among all.  Raises E0402 for one that does not exist."""
        tree = np.minimum(np.searchsorted(self._trees, trees), len(self._trees) - 1)
        at = self.places_in(tree, nodes)
        if (self._trees[tree] != trees).any():
            raise Error("E0402", "a weight is for a tree that does not exist")
        return at

    def places_in(self, tree: NDArray, nodes: NDArray) -> NDArray:
        """Return the places of nodes of trees, which are given by their places."""
        wanted = tree << 32 | np.clip(nodes, 0, 1 << 31)
        at = np.minimum(np.searchsorted(self._sorted, wanted), len(self._sorted) - 1)
        wrong = (self._sorted[at] != wanted) | (nodes < 0)
        if wrong.any():
            one = int(np.flatnonzero(wrong)[0])
            raise Error("E0402", f"node {nodes[one]} of tree {self._trees[tree[one]]} does not exist")
        return self._order[at]


def _questions(listed: ListedNodes, keys: _Keys, values: NDArray) -> tuple[NDArray, Questions, NDArray]:
    """Return which nodes are leaves, the others, and the first node of each tree, as `forest_of` takes them."""
    columns = (listed.nodes_featureids, listed.nodes_modes, values, listed.nodes_truenodeids, listed.nodes_falsenodeids)
    tracks, count = listed.nodes_missing_value_tracks_true, len(listed.nodes_nodeids)
    if any(len(column) != count for column in columns) or len(tracks) not in (0, count):
        raise Error("E0402", f"attributes of {count} nodes do not fit each other")
    unknown = set(listed.nodes_modes) - _MODES.keys()
    if unknown:
        raise Error("E0402", f"mode '{min(unknown)[:40]}' is not one of {', '.join(_MODES)}")
    modes = np.array([_MODES[mode] for mode in listed.nodes_modes])
    is_leaf = modes < 0
    inner = ~is_leaf
    number = np.where(is_leaf, -np.cumsum(is_leaf, dtype=np.int64), np.cumsum(inner, dtype=np.int64) - 1)

    def following(ids: Ints) -> NDArray:
        return number[keys.places_in(keys.tree[inner], np.array(ids, np.int64)[inner])]

    asked = Questions(
        np.array(listed.nodes_featureids, np.int64)[inner],
        modes[inner],
        values[inner],
        np.array(tracks, bool)[inner] if tracks else np.zeros(int(inner.sum()), bool),
        following(listed.nodes_truenodeids),
        following(listed.nodes_falsenodeids),
    )
    return is_leaf, asked, number[np.sort(keys.first)]


def _reaches_all(listed: ListedNodes, trees: Ints, classes: Ints, count: int) -> bool:
    """Return whether each class has a tree all of whose leaves have a weight for it, so that no row leaves it without a score."""
    leaves: dict[int, int] = {}
    for tree, mode in zip(listed.nodes_treeids, listed.nodes_modes, strict=True):
        leaves[tree] = leaves.get(tree, 0) + (mode == LEAF)
    weighed: dict[tuple[int, int], int] = {}
    for key in zip(trees, classes, strict=True):
        weighed[key] = weighed.get(key, 0) + 1
    return len({class_ for (tree, class_), number in weighed.items() if number >= leaves.get(tree, 0)}) == count
