"""Activations and softmaxes against onnx's reference evaluator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.ttc.importers.onnx.cases import check, check_node, node_model, normal

X = 2 * normal(2, 3, 4)


@pytest.mark.parametrize(
    ("op", "opset", "attrs"),
    [
        ("Relu", 18, {}),
        ("Sigmoid", 18, {}),
        ("Tanh", 18, {}),
        ("Softplus", 18, {}),
        ("Softsign", 18, {}),
        ("HardSwish", 18, {}),
        ("LeakyRelu", 18, {"alpha": 0.2}),
        ("LeakyRelu", 18, {}),
        ("Elu", 18, {"alpha": 0.5}),
        ("HardSigmoid", 18, {}),
        ("HardSigmoid", 18, {"alpha": 0.5, "beta": 0.1}),
        ("Selu", 18, {}),
        ("Celu", 18, {"alpha": 2.0}),
        ("ThresholdedRelu", 18, {"alpha": 0.5}),
        ("Mish", 18, {}),
        ("Gelu", 20, {}),
        ("Gelu", 20, {"approximate": "tanh"}),
        ("Swish", 24, {}),
        ("Swish", 24, {"alpha": 0.5}),
        ("Shrink", 18, {"lambd": 1.0, "bias": 0.25}),
        ("Softmax", 18, {}),
        ("Softmax", 18, {"axis": 1}),
        ("LogSoftmax", 18, {"axis": -2}),
    ],
)
def test_activation(op: str, opset: int, attrs: dict[str, Any], tmp_path: Path) -> None:
    check_node(tmp_path, op, X, opset=opset, **attrs)


def test_p_relu(tmp_path: Path) -> None:
    check_node(tmp_path, "PRelu", X, normal(3, 1))


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_softmax_before_13_flattens(axis: int, tmp_path: Path) -> None:
    model, feeds = node_model("Softmax", X, opset=11, axis=axis)
    at = axis % 3
    e = np.exp(X.reshape(int(np.prod(X.shape[:at])), -1))
    check(model, feeds, tmp_path, wanted=[(e / e.sum(axis=1, keepdims=True)).reshape(X.shape)])


def test_log_softmax_before_13_flattens(tmp_path: Path) -> None:
    model, feeds = node_model("LogSoftmax", X, opset=11)
    flat = X.reshape(2, 12)
    check(model, feeds, tmp_path, wanted=[(flat - np.log(np.exp(flat).sum(axis=1, keepdims=True))).reshape(X.shape)])
