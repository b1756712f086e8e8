"""Ensembles of trees, by number and by arrays, against onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper

from tests.ttc.importers.onnx.test_ops_ml import agrees, ml_model
from tests.ttc.importers.onnx.test_walk import failure, save

X = np.random.default_rng(3).standard_normal((6, 4)).astype(np.float32)
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


def nodes(**changed: Any) -> dict[str, Any]:
    """Three trees: of depth 2, of depth 1, and a single leaf."""
    rows = [  # tree, node, feature, mode, value, true, false
        (0, 0, 1, "BRANCH_LEQ", 0.1, 1, 2),
        (0, 1, 0, "BRANCH_LT", -0.2, 3, 4),
        (0, 2, 0, "LEAF", 0.0, 0, 0),
        (0, 3, 0, "LEAF", 0.0, 0, 0),
        (0, 4, 0, "LEAF", 0.0, 0, 0),
        (7, 0, 3, "BRANCH_GT", 0.3, 2, 1),
        (7, 2, 0, "LEAF", 0.0, 0, 0),
        (7, 1, 0, "LEAF", 0.0, 0, 0),
        (8, 0, 0, "LEAF", 0.0, 0, 0),
    ]
    names = ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids")
    return {f"nodes_{name}": list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)} | changed


def weights(entries: list[tuple[int, int, int, float]], kind: str = "target") -> dict[str, Any]:
    """Attributes of (tree, node, target, weight)."""
    return {f"{kind}_{n}": list(c) for n, c in zip(("treeids", "nodeids", "ids", "weights"), zip(*entries, strict=True), strict=True)}


TWO = [(0, 2, 0, 1.5), (0, 3, 0, -2.0), (0, 3, 1, 0.25), (0, 4, 1, 0.5), (7, 2, 1, 4.0), (7, 1, 0, 0.5), (8, 0, 1, 0.125)]
ONE = [(0, 2, 0, 0.125), (0, 3, 0, 0.25), (0, 4, 0, 0.5), (7, 2, 0, 0.0), (7, 1, 0, 0.125), (8, 0, 0, 0.0625)]
THREE = [(0, 2, 0, 0.5), (0, 3, 1, 0.25), (0, 4, 2, -0.5), (7, 2, 2, 0.1), (7, 1, 1, 0.2), (8, 0, 0, -0.3)]


@pytest.mark.parametrize("after", TRANSFORMS)
@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_regressor(aggregate: str, after: str, tmp_path: Path) -> None:
    for entries, targets in ((TWO, 2), (ONE, 1)):
        attrs = {**nodes(), **weights(entries), "n_targets": targets, "aggregate_function": aggregate, "post_transform": after}
        agrees(ml_model("TreeEnsembleRegressor", {"x": X}, **attrs), {"x": X}, tmp_path)
        agrees(ml_model("TreeEnsembleRegressor", {"x": X}, **attrs, base_values=[0.5, -1.0][:targets]), {"x": X}, tmp_path)


@pytest.mark.parametrize("mode", MODES)
def test_modes_and_missing_values(mode: str, tmp_path: Path) -> None:
    x = np.array([[v, w, 0, u] for v in (-0.2, 0, np.nan) for w in (0.1, 1, np.nan) for u in (0.3, np.nan)], np.float32)
    for tracks in ([0] * 9, [1] * 9, [1, 0, 0, 0, 0, 0, 0, 0, 0]):
        changed = nodes(nodes_modes=[m if m == "LEAF" else mode for m in nodes()["nodes_modes"]], nodes_missing_value_tracks_true=tracks)
        model = ml_model("TreeEnsembleRegressor", {"x": x}, **changed, **weights(TWO), n_targets=2)
        agrees(model, {"x": x}, tmp_path)


@pytest.mark.parametrize("labels", [{"classlabels_int64s": [5, 7, 9]}, {"classlabels_strings": ["low", "middle", "high"]}])
@pytest.mark.parametrize("after", TRANSFORMS)
def test_classifier(after: str, labels: dict[str, Any], tmp_path: Path) -> None:
    """Only the first class has a weight in all leaves of a tree: others are chosen where a leaf is for them, even below 0."""
    attrs = {**nodes(), **weights(THREE, "class"), "post_transform": after, **labels}
    agrees(ml_model("TreeEnsembleClassifier", {"x": X}, outputs=2, **attrs), {"x": X}, tmp_path)
    agrees(ml_model("TreeEnsembleClassifier", {"x": X}, outputs=2, **attrs, base_values=[0.5, 0.25, 0.0]), {"x": X}, tmp_path)


@pytest.mark.parametrize("after", TRANSFORMS[:4])
@pytest.mark.parametrize("sign", [1, -1])
def test_one_score_for_two_classes(sign: int, after: str, tmp_path: Path) -> None:
    entries = [(t, n, c, w if t == 0 else w * sign) for t, n, c, w in ONE]
    attrs = {**nodes(), **weights(entries, "class"), "post_transform": after, "classlabels_strings": ["no", "yes"]}
    agrees(ml_model("TreeEnsembleClassifier", {"x": X}, outputs=2, **attrs), {"x": X}, tmp_path)
    agrees(ml_model("TreeEnsembleClassifier", {"x": X}, outputs=2, **attrs, base_values=[0.1]), {"x": X}, tmp_path)


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.int32])
def test_inputs_of_other_types(dtype: type, tmp_path: Path) -> None:
    x = np.round(3 * X).astype(dtype) if dtype != np.float64 else X.astype(dtype)
    labels: dict[str, Any] = {"classlabels_int64s": [5, 7, 9]}
    agrees(ml_model("TreeEnsembleClassifier", {"x": x}, outputs=2, **nodes(), **weights(THREE, "class"), **labels), {"x": x}, tmp_path)


def test_thresholds_of_double_precision(tmp_path: Path) -> None:
    split = 0.1 + 1e-12
    x = np.array([[0, split, 0, 0], [0, split + 1e-14, 0, 0]], np.float64)
    changed = nodes(nodes_values_as_tensor=numpy_helper.from_array(np.array([split, *nodes()["nodes_values"][1:]])))
    del changed["nodes_values"]
    entries = weights(TWO)
    entries["target_weights_as_tensor"] = numpy_helper.from_array(np.array(entries.pop("target_weights")))
    agrees(ml_model("TreeEnsembleRegressor", {"x": x}, version=3, **changed, **entries, n_targets=2), {"x": x}, tmp_path)


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"target_nodeids": [2, 3, 3, 4, 2, 1, 1]}, "E0402"),
        ({"target_nodeids": [0, 3, 3, 4, 2, 1, 0]}, "E0402"),
        ({"target_treeids": [1, 0, 0, 0, 7, 7, 8]}, "E0402"),
        ({"target_ids": [0, 0, 1, 1, 1, 0, 2]}, "E0402"),
        ({"target_weights": [1.0]}, "E0402"),
        ({"nodes_truenodeids": [1, 3, 0, 0, 0, 44, 0, 0, 0]}, "E0402"),
        ({"nodes_truenodeids": [0, 3, 0, 0, 0, 2, 0, 0, 0]}, "E0402"),
        ({"nodes_truenodeids": [1, 0, 0, 0, 0, 2, 0, 0, 0]}, "E0402"),
        ({"nodes_truenodeids": [-1, 3, 0, 0, 0, 2, 0, 0, 0]}, "E0402"),
        ({"nodes_truenodeids": [1 << 62, 3, 0, 0, 0, 2, 0, 0, 0]}, "E0402"),
        ({"nodes_nodeids": [0, 1, 1, 3, 4, 0, 2, 1, 0]}, "E0402"),
        ({"nodes_nodeids": [0, 1, -2, 3, 4, 0, 2, 1, 0]}, "E0402"),
        ({"nodes_treeids": [0]}, "E0402"),
        ({"nodes_featureids": [9] * 9}, "E0402"),
        ({"nodes_values": [0.0]}, "E0402"),
        ({"nodes_missing_value_tracks_true": [1]}, "E0402"),
        ({"nodes_modes": ["LEAF"] * 8}, "E0402"),
        ({"nodes_modes": ["BRANCH_IN"] * 9}, "E0402"),
        ({"base_values": [1.0]}, "E0402"),
        ({"n_targets": 0}, "E0402"),
        ({"n_targets": 1 << 40}, "E0402"),
        ({"post_transform": "SQUARE"}, "E0402"),
        ({"aggregate_function": "MEDIAN"}, "E0402"),
    ],
)
def test_regressors_that_are_none(changed: dict[str, Any], code: str, tmp_path: Path) -> None:
    attrs = {**nodes(), **weights(TWO), "n_targets": 2, **changed}
    assert failure(save(ml_model("TreeEnsembleRegressor", {"x": X}, **attrs), tmp_path)).code == code


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"classlabels_strings": ["a", "b", "c"]}, "E0402"),
        ({"classlabels_int64s": [1, 2]}, "E0402"),
        ({"base_values": [1.0]}, "E0202"),
    ],
)
def test_classifiers_that_are_none(changed: dict[str, Any], code: str, tmp_path: Path) -> None:
    attrs = {**nodes(), **weights(THREE, "class"), "classlabels_int64s": [5, 7, 9], **changed}
    assert failure(save(ml_model("TreeEnsembleClassifier", {"x": X}, outputs=2, **attrs), tmp_path)).code == code


# ---- by arrays -------------------------------------------------------------------------------------------------------------------------

ARRAYS = {
    "n_targets": 2,
    "nodes_featureids": [0, 1, 2, 1],
    "nodes_modes": np.array([0, 3, 6, 5], np.uint8),  # x0 <= 0.5, x1 > 1, x2 in {2, 3}, x1 != 4
    "nodes_splits": np.array([0.5, 1, 0, 4], np.float32),
    "nodes_truenodeids": [1, 0, 2, 4],
    "nodes_trueleafs": [0, 1, 1, 1],
    "nodes_falsenodeids": [2, 1, 3, 3],
    "nodes_falseleafs": [0, 1, 1, 1],
    "tree_roots": [0, 3],
    "leaf_targetids": [0, 1, 0, 1, 0],
    "leaf_weights": np.array([1, 2, 3, 4, 5], np.float32),
    "membership_values": np.array([2, 3, np.nan], np.float32),
}
ROWS = np.array([[0, 2, 0], [0.5, 1, 9], [1, 0, 3], [1, 4, 4], [np.nan, 0, 2], [2, 4, np.nan]], np.float32)


def trees(x: np.ndarray = ROWS, **changes: Any) -> Any:
    given = {**ARRAYS, **changes}
    attrs: dict[str, Any] = {k: numpy_helper.from_array(v) if isinstance(v, np.ndarray) else v for k, v in given.items() if v is not None}
    return ml_model("TreeEnsemble", {"x": x}, version=5, **attrs)


@pytest.mark.parametrize("after", range(5))
@pytest.mark.parametrize("aggregate", range(4))
def test_trees(aggregate: int, after: int, tmp_path: Path) -> None:
    """onnxruntime takes 1 for LOGISTIC and 2 for SOFTMAX; ONNX has it the other way round."""
    theirs = {1: 2, 2: 1}.get(after, after)
    for targets in ({}, {"n_targets": 1, "leaf_targetids": [0] * 5}):
        given = {**targets, "aggregate_function": aggregate}
        agrees(trees(**given, post_transform=after), {"x": ROWS}, tmp_path, against=trees(**given, post_transform=theirs))


@pytest.mark.parametrize("tracks", [[1, 0, 0, 0], [1, 1, 0, 1]])
def test_missing_values(tracks: list[int], tmp_path: Path) -> None:
    agrees(trees(nodes_missing_value_tracks_true=tracks), {"x": ROWS}, tmp_path)


def test_trees_of_double_precision(tmp_path: Path) -> None:
    wide: dict[str, Any] = {k: v.astype(np.float64) for k, v in ARRAYS.items() if isinstance(v, np.ndarray) and k != "nodes_modes"}
    x = ROWS.astype(np.float64)
    x[1, 0] += 1e-12
    agrees(trees(x, **wide), {"x": x}, tmp_path)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"aggregate_function": 4}, "E0402"),
        ({"post_transform": 5}, "E0402"),
        ({"nodes_truenodeids": [0, 0, 2, 4]}, "E0402"),
        ({"nodes_truenodeids": [9, 0, 2, 4]}, "E0402"),
        ({"nodes_truenodeids": [1, 7, 2, 4]}, "E0402"),
        ({"nodes_truenodeids": [1, -1, 2, 4]}, "E0402"),
        ({"nodes_falsenodeids": [2, -9, 3, 3]}, "E0402"),
        ({"tree_roots": [0, 4]}, "E0402"),
        ({"tree_roots": [0, 0]}, "E0402"),
        ({"tree_roots": [-1]}, "E0402"),
        ({"nodes_featureids": [0, 1, 3, 1]}, "E0402"),
        ({"nodes_featureids": [0, 1, 2]}, "E0402"),
        ({"leaf_targetids": [0, 2, 0, 1, 0]}, "E0402"),
        ({"leaf_targetids": [0]}, "E0402"),
        ({"membership_values": np.array([2, 3], np.float32)}, "E0402"),
        ({"membership_values": None}, "E0402"),
        ({"nodes_modes": np.array([0, 3, 6, 7], np.uint8)}, "E0402"),
        ({"nodes_modes": np.array([0, 3, 6, np.nan], np.float32)}, "E0402"),
        ({"nodes_modes": np.zeros((4, 2), np.uint8)}, "E0402"),
        ({"nodes_missing_value_tracks_true": [1]}, "E0402"),
    ],
)
def test_trees_that_are_none(changes: dict[str, Any], code: str, tmp_path: Path) -> None:
    assert failure(save(trees(**changes), tmp_path)).code == code
