"""Classical machine learning on numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper

from tests.ttc.importers.onnx.cases import Arrays, check, ints, model_of, normal
from tests.ttc.importers.onnx.test_walk import failure, save
from ttc.importers.onnx.ops_ml import DOMAIN


def ml_model(op: str, feeds: Arrays, version: int = 1, **attrs: Any) -> ModelProto:
    return model_of([helper.make_node(op, list(feeds), ["y"], domain=DOMAIN, **attrs)], feeds, ["y"], domains={DOMAIN: version})


def test_array_feature_extractor(tmp_path: Path) -> None:
    x, columns = normal(3, 4), ints(3, 0)
    check(ml_model("ArrayFeatureExtractor", {"x": x, "c": columns}), {"x": x, "c": columns}, tmp_path, wanted=[x[:, [3, 0]]])
    row = {"x": x[0], "c": columns}
    check(ml_model("ArrayFeatureExtractor", row), row, tmp_path, wanted=[x[:1, [3, 0]]])


def test_binarizer(tmp_path: Path) -> None:
    x = np.array([[0.5, 1.5], [1.0, -2.0]], np.float32)
    check(ml_model("Binarizer", {"x": x}, threshold=1.0), {"x": x}, tmp_path, wanted=[np.array([[0, 1], [0, 0]], np.float32)])


def test_models_without_onnx_own_domain(tmp_path: Path) -> None:
    model = ml_model("Binarizer", {"x": normal(2)})
    del model.opset_import[0]
    assert [entry.domain for entry in model.opset_import] == [DOMAIN]
    x = np.array([1, -1], np.float32)
    check(model, {"x": x}, tmp_path, wanted=[np.array([1, 0], np.float32)])


TREES = {
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
ROWS = np.array([[0, 2, 0], [0.5, 1, 9], [1, 0, 3], [1, 4, 4], [np.nan, 0, 2]], np.float32)


def scores(row: np.ndarray, tracks: bool = False) -> list[float]:
    found = [0.0, 0.0]
    if row[0] <= 0.5 or (tracks and np.isnan(row[0])):
        target, weight = (0, 1) if row[1] > 1 else (1, 2)
    else:
        target, weight = (0, 3) if row[2] in (2, 3) else (1, 4)
    found[target] += weight
    target, weight = (0, 5) if row[1] != 4 else (1, 4)
    found[target] += weight
    return found


def trees(**changes: Any) -> ModelProto:
    given = {**TREES, **changes}
    attrs = {k: numpy_helper.from_array(v) if isinstance(v, np.ndarray) else v for k, v in given.items() if v is not None}
    return ml_model("TreeEnsemble", {"x": ROWS}, version=5, **attrs)


@pytest.mark.parametrize("tracks", [None, [1, 0, 0, 0]])
@pytest.mark.parametrize("average", [0, 1])
def test_trees(average: int, tracks: list[int] | None, tmp_path: Path) -> None:
    wanted = np.array([scores(row, bool(tracks)) for row in ROWS], np.float32) / (1 if average else 2)
    model = trees(aggregate_function=average, nodes_missing_value_tracks_true=tracks)
    check(model, {"x": ROWS}, tmp_path, wanted=[wanted])


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"aggregate_function": 2}, "E0202"),
        ({"post_transform": 4}, "E0202"),
        ({"nodes_truenodeids": [0, 0, 2, 4]}, "E0402"),
        ({"nodes_truenodeids": [9, 0, 2, 4]}, "E0402"),
        ({"nodes_truenodeids": [1, 7, 2, 4]}, "E0402"),
        ({"nodes_featureids": [0, 1, 3, 1]}, "E0402"),
        ({"nodes_featureids": [0, 1, 2]}, "E0402"),
        ({"leaf_targetids": [0, 2, 0, 1, 0]}, "E0402"),
        ({"membership_values": np.array([2, 3], np.float32)}, "E0402"),
        ({"nodes_modes": np.array([0, 3, 6, 7], np.uint8)}, "E0402"),
        ({"nodes_modes": np.array([0, 3, 6, np.nan], np.float32)}, "E0402"),
        ({"nodes_modes": np.zeros((4, 2), np.uint8)}, "E0402"),
        ({"nodes_missing_value_tracks_true": [1]}, "E0402"),
    ],
)
def test_trees_that_are_none(changes: dict[str, Any], code: str, tmp_path: Path) -> None:
    assert failure(save(trees(**changes), tmp_path)).code == code
