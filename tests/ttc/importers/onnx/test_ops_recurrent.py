"""Recurrent layers against onnx's reference evaluator, and their attributes as nn ops have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.ttc.importers.onnx.cases import check, check_node, imported, node_model, normal
from tests.ttc.importers.onnx.cases import save as saved
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.nn.recurrent import RecurrentOp
from ttc.importers.onnx import import_onnx

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
OUTPUTS = {"RNN": 2, "GRU": 2, "LSTM": 3}


def operands(op: str, directions: int = 1, samples: int = 3) -> list[np.ndarray]:
    """x[4, samples, 2], w, r and bias for 5 hidden features."""
    rows = GATES[op] * 5
    return [normal(4, samples, 2), normal(directions, rows, 2), normal(directions, rows, 5), normal(directions, 2 * rows)]


@pytest.mark.parametrize("op", list(GATES))
def test_forward(op: str, tmp_path: Path) -> None:
    check_node(tmp_path, op, *operands(op), outputs=OUTPUTS[op], opset=14, hidden_size=5)


@pytest.mark.parametrize("op", list(GATES))
def test_layout_of_batches_first(op: str, tmp_path: Path) -> None:
    x, *rest = operands(op, directions=2)
    states = [normal(2, 3, 5) for _ in range(2 if op == "LSTM" else 1)]
    attrs = {"opset": 14, "hidden_size": 5, "direction": "bidirectional", "outputs": OUTPUTS[op]}
    wanted = imported(*node_model(op, x, *rest, None, *states, **attrs), tmp_path)
    swapped = [v.swapaxes(0, 1).copy() for v in (x, *states)]
    model, feeds = node_model(op, swapped[0], *rest, None, *swapped[1:], layout=1, **attrs)
    check(model, feeds, tmp_path, wanted=[wanted[0].transpose(2, 0, 1, 3), *(v.swapaxes(0, 1) for v in wanted[1:])])


def layer_of(op: str, folder: Path, **attrs: Any) -> RecurrentOp:
    model, _ = node_model(op, *operands(op, directions=2), opset=14, hidden_size=5, direction="bidirectional", **attrs)
    (function,) = entry_functions(import_onnx(saved(model, folder))[0])
    (layer,) = (x for x in function.body.block.ops if isinstance(x, RecurrentOp))
    return layer


def test_parameters_go_to_the_activations_that_take_them(tmp_path: Path) -> None:
    names = ["HardSigmoid", "Tanh", "LeakyRelu", "Affine"]
    found = layer_of("GRU", tmp_path, activations=names, activation_alpha=[0.3, 0.4], activation_beta=[0.6], clip=2.5).plain_attrs()
    assert found["activations"] == ("hardsigmoid", "tanh", "leakyrelu", "affine")
    assert found["alphas"] == pytest.approx((0.3, 0, 0.4, 1))
    assert found["betas"] == pytest.approx((0.6, 0, 0, 0))
    assert found["clip"] == 2.5


def test_defaults(tmp_path: Path) -> None:
    found = layer_of("LSTM", tmp_path, input_forget=1).plain_attrs()
    assert found["activations"] == ("sigmoid", "tanh", "tanh") * 2
    assert (found["clip"], found["input_forget"]) == (float("inf"), True)
    assert layer_of("GRU", tmp_path, linear_before_reset=1).plain_attrs()["linear_before_reset"] is True


@pytest.mark.parametrize(
    ("code", "attrs"), [("E0401", {"hidden_size": 6}), ("E0402", {"activations": ["Sine"]}), ("E0402", {"direction": "both"})]
)
def test_errors(code: str, attrs: dict[str, Any], tmp_path: Path) -> None:
    model, feeds = node_model("RNN", *operands("RNN"), opset=14, **{"hidden_size": 5, **attrs})
    with pytest.raises(Error) as caught:
        imported(model, feeds, tmp_path)
    assert caught.value.code == code
