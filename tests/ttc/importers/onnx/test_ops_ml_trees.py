"""Ensembles of trees by number against onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.ttc.importers.onnx.cases import check
from tests.ttc.importers.onnx.test_ops_ml import ml_model
from tests.ttc.importers.onnx.test_walk import failure, save
from ttc.importers.onnx.ops_ml import DOMAIN

X = np.random.default_rng(3).standard_normal((6, 4)).astype(np.float32)


def ensemble(**changed: Any) -> dict[str, Any]:
    """Three trees: of depth 2, of depth 1, and a single leaf; two targets, of which some leaves have both and one has none."""
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
    weights = [(0, 2, 0, 1.5), (0, 3, 0, -2.0), (0, 3, 1, 0.25), (7, 2, 1, 4.0), (7, 1, 0, 0.5), (8, 0, 1, 0.125)]
    names = ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids")
    found: dict[str, Any] = {f"nodes_{name}": list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    targets = zip(("treeids", "nodeids", "ids", "weights"), zip(*weights, strict=True), strict=True)
    return {**found, **{f"target_{name}": list(column) for name, column in targets}, "n_targets": 2, **changed}


@pytest.mark.parametrize(
    "changed",
    [{}, {"aggregate_function": "AVERAGE"}, {"base_values": [1.0, -1.0]}, {"post_transform": "SOFTMAX"}, {"post_transform": "LOGISTIC"}],
)
def test_regressor(changed: dict[str, Any], tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    model = ml_model("TreeEnsembleRegressor", {"x": X}, **ensemble(**changed))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", 1, (6, 2)))
    model.ir_version = 8
    wanted = runtime.InferenceSession(model.SerializeToString()).run(None, {"x": X})
    check(model, {"x": X}, tmp_path, wanted=wanted)
    assert model.opset_import[-1].domain == DOMAIN


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"target_nodeids": [2, 3, 3, 2, 1, 1]}, "E0402"),
        ({"target_ids": [0, 0, 1, 1, 0, 2]}, "E0402"),
        ({"nodes_truenodeids": [1, 3, 0, 0, 0, 44, 0, 0, 0]}, "E0402"),
        ({"nodes_truenodeids": [2, 3, 0, 0, 0, 2, 0, 0, 0]}, "E0402"),
        ({"nodes_featureids": [9] * 9}, "E0402"),
        ({"nodes_values": [0.0]}, "E0402"),
        ({"nodes_modes": ["LEAF"] * 9}, "E0402"),
        ({"nodes_modes": ["BRANCH_IN"] * 9}, "E0402"),
        ({"post_transform": "PROBIT"}, "E0202"),
        ({"aggregate_function": "MIN"}, "E0202"),
    ],
)
def test_what_is_refused(changed: dict[str, Any], code: str, tmp_path: Path) -> None:
    assert failure(save(ml_model("TreeEnsembleRegressor", {"x": X}, **ensemble(**changed)), tmp_path)).code == code
