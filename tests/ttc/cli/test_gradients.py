"""`ttc run --engine both` on training programs: gradient rules that are planted wrong, in turn.

PLANTED=all takes every rule (`make check-planted`); otherwise each eighth.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from ttc.cli import main
from ttc.dialects.core.ir.attributes import LiteralAttr
from ttc.dialects.nn.gradients.base import GRADIENTS

pytest.importorskip("torch", reason="cases stand beside PyTorch's functions")
import torch

from tests.dialects.nn.gradients.planted_cases import CASES
from tests.dialects.nn.gradients.test_against_torch import drawn
from tests.dialects.nn.gradients.test_check import wrong_by
from tests.ttc.debug.test_bisect_gradients import ABSENT, written

Capture = pytest.CaptureFixture[str]
TRAINED = ["--target", "host", "--loss", "mse", "--optimizer", "sgd", "--loss-output", "y0", "-q"]
EVERY = sorted(GRADIENTS.rules().keys() - ABSENT.keys())
CHOSEN = EVERY if os.environ.get("PLANTED") == "all" else EVERY[::8]


@pytest.mark.parametrize("name", CHOSEN)
def test_a_wrong_rule_is_found(
    name: str, tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    arrays = [drawn(value, rng) for value in CASES[name][0]]
    index, operand = next((i, x) for i, x in enumerate(arrays) if x is not None and x.dtype.kind == "f")
    shape = operand.shape if operand.size <= LiteralAttr.MAX_ELEMENTS else operand.shape[-1:]  # as large as text writes out
    model, *files = written(tmp_path, name, arrays, index, shape)
    run = ["run", str(tmp_path / "m.tti"), *files, "--random", "--program", "step", "--engine", "both", "--json"]
    assert main(["compile", model, "-o", str(tmp_path / "m.tti"), *TRAINED]) == 0
    assert main(run) == 0
    right = json.loads(capsys.readouterr().out)["gradients"]
    assert (right["compared"], right["wrong"], right["rule"]) == (True, [], None)
    monkeypatch.setitem(GRADIENTS.rules(), name, wrong_by(GRADIENTS.rules()[name], index, 1.01))
    assert main(["compile", model, "-o", str(tmp_path / "m.tti"), *TRAINED]) == 0
    assert main(run) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["engines"]["within"], found["gradients"]["wrong"]) == (True, ["p"])
    assert {"moved", "planted"} & set(found["gradients"]["suspects"])


@pytest.fixture
def model(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 3))
    names = {"input_names": ["x"], "output_names": ["y"], "dynamic_axes": {"x": {0: "rows"}}}
    torch.onnx.export(network, (torch.zeros(4, 8),), tmp_path / "m.onnx", dynamo=False, **names)
    return tmp_path / "m.onnx"


def test_the_model_names_the_rule(model: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = model.with_suffix(".tti")
    compile_ = ["compile", str(model), "-q", "-o", str(archive), "--batch", "4", "--target", "host", "--loss", "mse", "--optimizer", "sgd"]
    run = ["run", str(archive), "--random", "--program", "step", "--engine", "both"]
    assert main(compile_) == 0
    assert main([*run, "--check", str(model)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("gradients are those of the forward part: off by ")
    monkeypatch.setitem(GRADIENTS.rules(), "nn.tanh", wrong_by(GRADIENTS.rules()["nn.tanh"], 0, 1.01))
    assert main(compile_) == 0
    assert main(run) == 1
    *_, verdict, suspects = capsys.readouterr().out.splitlines()
    assert verdict == "wrong gradients: of 0.bias, 0.weight: differences of the forward part say otherwise"
    assert "/1/Tanh" in suspects
    assert main([*run, "--check", str(model)]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("the gradient rule of nn.tanh is wrong: the cotangent of operand 1 is off by ")
    assert last.endswith(", at /1/Tanh")
