"""Classical machine learning on numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import ModelProto, helper

from tests.ttc.importers.onnx.cases import Arrays, check, ints, model_of, normal
from ttc.importers.onnx.ops_ml import DOMAIN


def ml_model(op: str, feeds: Arrays, **attrs: float) -> ModelProto:
    return model_of([helper.make_node(op, list(feeds), ["y"], domain=DOMAIN, **attrs)], feeds, ["y"], domains={DOMAIN: 1})


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
