"""The rule that is wrong, by the model that an archive was compiled from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ttc
from ttc.comparison.rules import wrong_rule
from ttc.dialects.core.errors import Error
from ttc.dialects.nn.gradients.base import GRADIENTS

pytest.importorskip("torch", reason="cases stand beside PyTorch's functions")
import torch

from tests.dialects.nn.gradients.planted_cases import CASES
from tests.dialects.nn.gradients.test_against_torch import drawn
from tests.dialects.nn.gradients.test_check import wrong_by
from tests.ttc.debug.test_bisect_gradients import MADE_OF, written


@pytest.mark.parametrize("name", ["nn.lstm_training", "nn.softmax", "nn.gather"])
def test_it_is_named(name: str, tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = [drawn(value, rng) for value in CASES[name][0]]
    index = next(i for i, x in enumerate(arrays) if x is not None and x.dtype.kind == "f")
    model, _, bundle = written(tmp_path, MADE_OF.get(name, name), arrays, index)
    program = ttc.compile(model, loss="mse", optimizer="sgd", loss_output="y0", target="host")
    inputs = dict(np.load(bundle))
    target = next(a for a in program.entry("backward").arguments if a.name == "target")
    inputs["target"] = np.zeros(target.shape, target.dtype)
    assert wrong_rule(Path(model), program, inputs) == ""
    monkeypatch.setitem(GRADIENTS.rules(), name, wrong_by(GRADIENTS.rules()[name], index, 1.01))
    found = wrong_rule(Path(model), program, inputs)
    assert found.startswith(f"the gradient rule of {name} is wrong: the cotangent of operand {index + 1} is off by ")
    assert found.endswith(", at planted")


def test_a_file_that_is_no_model_is_an_error(tmp_path: Path) -> None:
    program = ttc.compile(torch.nn.Linear(2, 1), (torch.zeros(4, 2),), loss="mse", optimizer="sgd", target="host")
    (tmp_path / "m.onnx").write_bytes(b"no model")
    inputs = {"input": np.zeros((4, 2), np.float32), "target": np.zeros((4, 1), np.float32)}
    with pytest.raises(Error) as caught:
        wrong_rule(tmp_path / "m.onnx", program, inputs)
    assert caught.value.code == "E0201"
