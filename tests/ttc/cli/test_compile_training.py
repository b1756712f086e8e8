"""`ttc compile --loss --optimizer`, and what `ttc info` shows of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ttc.cli.app import main

MODEL = """
module attributes {ttc.stage = "import", ttc.model = "small"} {
  func.func @forward(%x: tensor<2x3xf32> {ttc.name = "x"}) -> (tensor<2x3xf32> {ttc.name = "y"}) {
    %w = ttc.param() {sym = "w", value = #ttc.literal<[1.0, 2.0, 3.0], tensor<3xf32>>} : () -> tensor<3xf32>
    %0 = nn.mul(%x, %w) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    func.return %0 : tensor<2x3xf32>
  }
}
"""
TRAINED = ["--target", "host", "--loss", "mse", "--optimizer", "sgd:lr=0.5", "--clip-norm", "1"]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "small.mlir"
    path.write_text(MODEL)
    return path


def test_training_programs(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = tmp_path / "small.tti"
    assert main(["compile", str(model), "-o", str(archive), *TRAINED, "--check-numerics", "--check-gradients"]) == 0
    capsys.readouterr()
    assert main(["info", str(archive), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert list(facts["programs"]) == ["forward", "evaluate", "backward", "step", "optimizer"]
    assert facts["training"]["hyper"] == {"max_norm": 1.0, "lr": 0.5}
    assert facts["options"]["optimizer"] == "sgd:lr=0.5"
    assert main(["info", str(archive)]) == 0
    shown = capsys.readouterr().out
    assert "training: loss mse of y; microbatches of 2 rows, 1 a step" in shown
    assert "optimizer sgd:lr=0.5: 1 parameters in group 0; inputs lr=0.5" in shown


@pytest.mark.parametrize("stage", ["import", "nn", "tile", "nn:differentiate"])
def test_text_of_any_stage_resumes_to_the_same_bytes(model: Path, tmp_path: Path, stage: str) -> None:
    whole, text, resumed = (tmp_path / name for name in ("whole.tti", "text.mlir", "resumed.tti"))
    assert main(["compile", str(model), "-q", "-o", str(whole), *TRAINED]) == 0
    assert main(["compile", str(model), "-q", "-o", str(text), "--to", stage, *TRAINED]) == 0
    assert main(["compile", str(text), "-q", "-o", str(resumed)]) == 0
    assert resumed.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--optimizer", "sgd"], "--optimizer makes a training program, which has a loss: there is none"),
        (["--loss", "mes"], "there is no loss 'mes'"),
        (["--loss", "mse", "--optimizer", "adamx"], "there is no optimizer 'adamx'"),
        (["--loss", "mse", "--loss-output", "z"], "the model has no output 'z', which the loss is of"),
        (["--loss", "cross_entropy:axis=5"], "axis 5 is outside rank 2"),
    ],
)
def test_bad_input_is_one_error(model: Path, tmp_path: Path, flags: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    archive = tmp_path / "small.tti"
    assert main(["compile", str(model), "-o", str(archive), "--target", "host", *flags]) == 2
    assert message in capsys.readouterr().err
    assert not archive.exists()
