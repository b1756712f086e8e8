"""Classical machine learning on rows of features."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.ttc.importers.onnx.cases import check, normal
from tests.ttc.importers.onnx.test_ops_ml import agrees, ml_model
from tests.ttc.importers.onnx.test_walk import failure, save

X = np.concatenate([normal(3, 4), np.zeros((1, 4), np.float32)])


@pytest.mark.parametrize("attrs", [{"offset": [0.5], "scale": [2.0]}, {"offset": [1.0, 2.0, 3.0, 4.0], "scale": [1.0, 0.5, 0.0, -1.0]}])
def test_scaler(attrs: dict[str, Any], tmp_path: Path) -> None:
    wanted = (X - np.array(attrs["offset"], np.float32)) * np.array(attrs["scale"], np.float32)
    check(ml_model("Scaler", {"x": X}, **attrs), {"x": X}, tmp_path, wanted=[wanted])


def test_imputer(tmp_path: Path) -> None:
    holes = np.where(X > 0.5, np.float32(np.nan), X)
    values = np.array([1, 2, 3, 4], np.float32)
    model = ml_model("Imputer", {"x": holes}, imputed_value_floats=values.tolist(), replaced_value_float=float("nan"))
    check(model, {"x": holes}, tmp_path, wanted=[np.where(X > 0.5, values, X)])
    model = ml_model("Imputer", {"x": X}, imputed_value_floats=[7.0])
    check(model, {"x": X}, tmp_path, wanted=[np.where(X == 0, np.float32(7), X)])
    whole = np.array([[1, -1], [0, 5]])
    model = ml_model("Imputer", {"x": whole}, imputed_value_int64s=[8, 9], replaced_value_int64=-1)
    check(model, {"x": whole}, tmp_path, wanted=[np.array([[1, 9], [0, 5]])])


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_normalizer(norm: str, tmp_path: Path) -> None:
    for x in (X, -np.abs(X), X[0]):
        agrees(ml_model("Normalizer", {"x": x}, norm=norm), {"x": x}, tmp_path)


def test_feature_vectorizer(tmp_path: Path) -> None:
    feeds = {"x": X, "y0": np.arange(4), "z": normal(4, 2)}
    wanted = np.concatenate([X, feeds["y0"][:, None].astype(np.float32), feeds["z"]], 1)
    check(ml_model("FeatureVectorizer", feeds, inputdimensions=[4, 1, 2]), feeds, tmp_path, wanted=[wanted])


@pytest.mark.parametrize(
    ("op", "attrs", "code"),
    [
        ("Scaler", {"scale": [1.0, 2.0]}, "E0402"),
        ("Imputer", {}, "E0402"),
        ("Normalizer", {"norm": "L3"}, "E0402"),
        ("FeatureVectorizer", {"inputdimensions": [3]}, "E0402"),
    ],
)
def test_what_is_refused(op: str, attrs: dict[str, Any], code: str, tmp_path: Path) -> None:
    assert failure(save(ml_model(op, {"x": X}, **attrs), tmp_path)).code == code
