"""Support vector machines against onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.draws import generator
from tests.ttc.importers.onnx.test_ops_ml import agrees, ml_model
from tests.ttc.importers.onnx.test_walk import failure, save
from ttc.importers.onnx.ops_ml_svm import KERNELS
from ttc.importers.onnx.scores import TRANSFORMS

X = generator("ml_svm.X").standard_normal((7, 3)).astype(np.float32)
VECTORS = generator("ml_svm.VECTORS").standard_normal((6, 3)).astype(np.float32)
PARAMS = [0.5, 0.25, 3.0]


def classifier(sizes: list[int], *, probable: bool = False, **changed: Any) -> dict[str, Any]:
    rng, count = np.random.default_rng(len(sizes)), len(sizes)
    pairs = count * (count - 1) // 2
    found: dict[str, Any] = {
        "classlabels_ints": list(range(5, 5 + count)),
        "vectors_per_class": sizes,
        "support_vectors": VECTORS.ravel().tolist(),
        "coefficients": rng.standard_normal(6 * (count - 1)).tolist(),
        "rho": rng.standard_normal(pairs).tolist(),
        "kernel_params": PARAMS,
        "kernel_type": "RBF",
    }
    if probable:
        found |= {"prob_a": (-1 - rng.random(pairs)).tolist(), "prob_b": rng.standard_normal(pairs).tolist()}
    return found | changed


@pytest.mark.parametrize("probable", [False, True])
@pytest.mark.parametrize("sizes", [[4, 2], [1, 3, 2], [2, 0, 3, 1]])
@pytest.mark.parametrize("kernel", KERNELS)
def test_classifier(kernel: str, sizes: list[int], probable: bool, tmp_path: Path) -> None:
    attrs = classifier(sizes, probable=probable, kernel_type=kernel)
    agrees(ml_model("SVMClassifier", {"x": X}, outputs=2, **attrs), {"x": X}, tmp_path)
    words = {k: v for k, v in attrs.items() if k != "classlabels_ints"} | {"classlabels_strings": list("abcd")[: len(sizes)]}
    agrees(ml_model("SVMClassifier", {"x": X[0]}, outputs=2, **words), {"x": X[0]}, tmp_path)


@pytest.mark.parametrize("after", TRANSFORMS)
@pytest.mark.parametrize("probable", [False, True])
def test_transforms(probable: bool, after: str, tmp_path: Path) -> None:
    for sizes in ([4, 2], [1, 3, 2]):
        if sizes == [4, 2] and after == "PROBIT" and not probable:
            continue  # refused: see below
        attrs = classifier(sizes, probable=probable, post_transform=after)
        agrees(ml_model("SVMClassifier", {"x": X}, outputs=2, **attrs), {"x": X}, tmp_path)


@pytest.mark.parametrize("labels", [[5, 7], [5, 7, 9]])
@pytest.mark.parametrize("sign", [1, -1])
def test_linear_classifier(sign: int, labels: list[int], tmp_path: Path, rng: np.random.Generator) -> None:
    weights = np.abs(rng.standard_normal(3 * len(labels))) * sign
    attrs = {"classlabels_ints": labels, "coefficients": weights.tolist(), "rho": [0.1], "kernel_params": PARAMS, "kernel_type": "LINEAR"}
    agrees(ml_model("SVMClassifier", {"x": X}, outputs=2, **attrs), {"x": X}, tmp_path)


@pytest.mark.parametrize("one_class", [0, 1])
@pytest.mark.parametrize("kernel", KERNELS)
def test_regressor(kernel: str, one_class: int, tmp_path: Path) -> None:
    vectors = {"n_supports": 6, "support_vectors": VECTORS.ravel().tolist(), "coefficients": [0.5, -1.0, 0.25, 1.5, -0.75, 0.125]}
    attrs = {**vectors, "rho": [0.1], "kernel_params": PARAMS, "kernel_type": kernel, "one_class": one_class}
    agrees(ml_model("SVMRegressor", {"x": X}, **attrs), {"x": X}, tmp_path)
    far = 1000 + X
    agrees(
        ml_model("SVMRegressor", {"x": far}, **attrs | {"kernel_type": "RBF", "support_vectors": (1000 + VECTORS).ravel().tolist()}),
        {"x": far},
        tmp_path,
    )


def test_linear_regressor(tmp_path: Path) -> None:
    attrs = {"coefficients": [0.5, -1.0, 2.0], "rho": [0.25], "kernel_params": PARAMS}
    agrees(ml_model("SVMRegressor", {"x": X}, **attrs), {"x": X}, tmp_path)


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"vectors_per_class": [6]}, "E0402"),
        ({"vectors_per_class": [-1, 7]}, "E0402"),
        ({"vectors_per_class": [1 << 40, 1 << 40]}, "E0402"),
        ({"vectors_per_class": [3, 4]}, "E0402"),
        ({"support_vectors": [1.0]}, "E0402"),
        ({"coefficients": [1.0]}, "E0402"),
        ({"rho": [1.0, 2.0]}, "E0402"),
        ({"prob_a": [1.0]}, "E0402"),
        ({"prob_a": [1.0, 2.0], "prob_b": [1.0, 2.0]}, "E0402"),
        ({"kernel_type": "COSINE"}, "E0402"),
        ({"kernel_params": [1.0]}, "E0402"),
        ({"post_transform": "SQUARE"}, "E0402"),
        ({"post_transform": "PROBIT"}, "E0202"),
    ],
)
def test_classifiers_that_are_none(changed: dict[str, Any], code: str, tmp_path: Path) -> None:
    model = ml_model("SVMClassifier", {"x": X}, outputs=2, **classifier([4, 2], **changed))
    assert failure(save(model, tmp_path)).code == code


@pytest.mark.parametrize(
    ("changed", "code"),
    [({"n_supports": 5}, "E0402"), ({"n_supports": -1}, "E0402"), ({"rho": [1.0, 2.0]}, "E0402"), ({"post_transform": "PROBIT"}, "E0202")],
)
def test_regressors_that_are_none(changed: dict[str, Any], code: str, tmp_path: Path) -> None:
    attrs: dict[str, Any] = {"coefficients": [1.0, 2.0, 3.0], "rho": [0.5], "kernel_params": PARAMS, **changed}
    assert failure(save(ml_model("SVMRegressor", {"x": X}, **attrs), tmp_path)).code == code
