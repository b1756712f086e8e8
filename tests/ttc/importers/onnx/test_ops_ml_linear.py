"""Linear models against onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.draws import generator
from tests.ttc.importers.onnx.test_ops_ml import agrees, ml_model
from tests.ttc.importers.onnx.test_walk import failure, save
from ttc.importers.onnx.scores import TRANSFORMS

X = generator("ops_ml_linear.X").standard_normal((5, 4)).astype(np.float32)
WEIGHTS = generator("ops_ml_linear.WEIGHTS").standard_normal(12).astype(np.float32).tolist()
SHIFTS = [0.25, -0.5, 0.75]


@pytest.mark.parametrize("after", TRANSFORMS)
@pytest.mark.parametrize("targets", [1, 2, 3])
def test_regressor(targets: int, after: str, tmp_path: Path) -> None:
    attrs = {"coefficients": WEIGHTS[: 4 * targets], "targets": targets, "post_transform": after}
    for x in (X, X[0]):
        agrees(ml_model("LinearRegressor", {"x": x}, **attrs, intercepts=SHIFTS[:targets]), {"x": x}, tmp_path)
    agrees(ml_model("LinearRegressor", {"x": X}, **attrs), {"x": X}, tmp_path)


@pytest.mark.parametrize("after", TRANSFORMS)
@pytest.mark.parametrize("labels", [{"classlabels_ints": [7, 5, 9]}, {"classlabels_strings": ["a", "b", "c"]}])
def test_classifier(labels: dict[str, Any], after: str, tmp_path: Path) -> None:
    attrs = {"coefficients": WEIGHTS, "intercepts": SHIFTS, "post_transform": after, **labels}
    agrees(ml_model("LinearClassifier", {"x": X}, outputs=2, **attrs), {"x": X}, tmp_path)
    agrees(ml_model("LinearClassifier", {"x": X[0]}, outputs=2, **attrs), {"x": X[0]}, tmp_path)


@pytest.mark.parametrize("after", [name for name in TRANSFORMS if name != "PROBIT"])
@pytest.mark.parametrize("labels", [{"classlabels_ints": [7, 5]}, {"classlabels_strings": ["no", "yes"]}])
def test_one_score_for_two_classes(labels: dict[str, Any], after: str, tmp_path: Path) -> None:
    attrs = {"coefficients": WEIGHTS[:4], "intercepts": SHIFTS[:1], "post_transform": after, **labels}
    agrees(ml_model("LinearClassifier", {"x": X}, outputs=2, **attrs), {"x": X}, tmp_path)


@pytest.mark.parametrize(
    ("op", "attrs", "code"),
    [
        ("LinearRegressor", {"coefficients": [1.0]}, "E0402"),
        ("LinearRegressor", {"coefficients": [1.0] * 4, "intercepts": [1.0, 2.0]}, "E0402"),
        ("LinearRegressor", {"coefficients": [1.0] * 4, "targets": 0}, "E0402"),
        ("LinearRegressor", {"coefficients": [1.0] * 4, "post_transform": "SQUARE"}, "E0402"),
        ("LinearClassifier", {"coefficients": [1.0] * 8, "classlabels_ints": [1, 2, 3]}, "E0402"),
        ("LinearClassifier", {"coefficients": [1.0] * 8}, "E0402"),
        ("LinearClassifier", {"coefficients": [1.0] * 4, "classlabels_ints": [1, 2], "post_transform": "PROBIT"}, "E0202"),
    ],
)
def test_what_is_refused(op: str, attrs: dict[str, Any], code: str, tmp_path: Path) -> None:
    outputs = 2 if op == "LinearClassifier" else 1
    assert failure(save(ml_model(op, {"x": X}, outputs=outputs, **attrs), tmp_path)).code == code
