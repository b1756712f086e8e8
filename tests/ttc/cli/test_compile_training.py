"""`ttc compile --loss --optimizer`, and what `ttc info` shows of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.archives import run_alike
from tests.ttc.comparison.test_engines import Drift
from ttc.cli.app import main
from ttc.dialects.netlist.model import Graph, Netlist
from ttc.dialects.nn.gradients.base import GRADIENTS, Cotangents, GradientSite
from ttc.dialects.nn.making import OpMaker
from ttc.runtime.engines import table
from ttc.runtime.engines.base import Plan
from ttc.runtime.engines.reference import ReferenceEngine
from ttc.runtime.tensors import Constants

MODEL = """
module attributes {ttc.stage = "import", ttc.model = "small"} {
  func.func @forward(%x: tensor<2x3xf32> {ttc.name = "x"}) -> (tensor<2x3xf32> {ttc.name = "y"}) {
    %w = ttc.param() {sym = "w", value = #ttc.literal<[1.0, 2.0, 3.0], tensor<3xf32>>} : () -> tensor<3xf32>
    %0 = nn.mul(%x, %w) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %1 = nn.tanh(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %2 = nn.layer_norm(%1, %w, _) {axis = 1, eps = 1.0e-05} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    func.return %2 : tensor<2x3xf32>
  }
}
"""
TRAINED = ["--target", "host", "--loss", "mse", "--optimizer", "sgd:lr=0.5", "--clip-norm", "1"]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "small.mlir"
    path.write_text(MODEL)
    return path


def scaled_rule(monkeypatch: pytest.MonkeyPatch, name: str, factor: float) -> None:
    """Let the gradient rule of an op give so many times the cotangent of its first operand."""
    rule = GRADIENTS.rules()[name]

    def wrong(b: OpMaker, site: GradientSite) -> Cotangents:
        first, *others = rule(b, site)
        return [None if first is None else b.nn("mul", first, b.scalar(factor, first)), *others]

    monkeypatch.setitem(GRADIENTS.rules(), name, wrong)


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


@pytest.mark.parametrize("check", ["--check-numerics", "--check-gradients"])
@pytest.mark.parametrize("name", ["nn.mul", "nn.tanh", "nn.layer_norm"])
def test_a_wrong_gradient_rule_is_named(
    check: str, name: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scaled_rule(monkeypatch, name, 1.001)
    archive = tmp_path / "small.tti"
    assert main(["compile", str(model), "-o", str(archive), *TRAINED, check]) == 2
    assert f": the gradient rule of {name} is wrong: the cotangent of operand 1 is off by " in capsys.readouterr().err
    assert not archive.exists()


@pytest.mark.parametrize("name", ["nn.mul", "nn.tanh", "nn.layer_norm"])
def test_a_wrong_gradient_rule_is_bisected(
    name: str, model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["bisect", str(model), *TRAINED]) == 0
    scaled_rule(monkeypatch, name, -1.0)
    capsys.readouterr()
    assert main(["bisect", str(model), *TRAINED, "--json"]) == 1
    culprit = json.loads(capsys.readouterr().out)["culprit"]
    assert (culprit["stage"], culprit["run"], culprit["rewrite"]) == ("nn", "differentiate@1", 1)
    assert culprit["problem"].startswith(f"the gradient rule of {name} is wrong: the cotangent of operand 1 is off by ")
    assert any("grad." in line for line in culprit["after"])


@dataclass(frozen=True)
class WrongGradients:
    """An engine whose kernels of gradients, and no others, give a little too much."""

    name: str = "wrong"
    joins_graphs: bool = True

    def prepare(self, graph: Graph, netlist: Netlist, constants: Constants) -> Plan:
        wrong = any(name.startswith("grad.") for op in graph.ops for name in op.location)
        return Drift(ReferenceEngine().prepare(graph, netlist, constants), 1.01 if wrong else 1.0)


def test_a_wrong_kernel_of_a_gradient_is_found_by_the_other_engine(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "small.tti"
    assert main(["compile", str(model), "-q", "-o", str(archive), *TRAINED]) == 0
    run = ["run", str(archive), "--random", "--program", "step", "--engine", "both", "--json"]
    assert main(run) == 0
    monkeypatch.setitem(table.ENGINES, "native", lambda *_: WrongGradients())  # pyright: ignore[reportArgumentType]
    capsys.readouterr()
    assert main(run) == 1
    found = json.loads(capsys.readouterr().out)["engines"]["first_wrong"]
    assert any(name.startswith("grad.") for name in found["location"]), "it may be fused with ops of the loss"


@pytest.mark.parametrize("stage", ["import", "nn", "tile", "nn:differentiate"])
def test_text_of_any_stage_resumes_to_the_same_bytes(model: Path, tmp_path: Path, stage: str) -> None:
    whole, text, resumed = (tmp_path / name for name in ("whole.tti", "text.mlir", "resumed.tti"))
    assert main(["compile", str(model), "-q", "-o", str(whole), *TRAINED]) == 0
    assert main(["compile", str(model), "-q", "-o", str(text), "--to", stage, *TRAINED]) == 0
    assert main(["compile", str(text), "-q", "-o", str(resumed)]) == 0
    assert run_alike(resumed) == run_alike(whole)
    assert (resumed.read_bytes() == whole.read_bytes()) == (stage != "tile")


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
