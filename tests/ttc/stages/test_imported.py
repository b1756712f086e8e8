"""Stages that an imported program is cut into compute together what it does, and are trained as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ttc
from tests.ttc.train.digits import BATCH, FEATURES, samples, write_model
from ttc import ops
from ttc.api import source_of
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import entry_functions, ports
from ttc.stages.imported import cut_imported

HOST = {"target": "host", "threads": 1}
NORM = """builtin.module attributes {ttc.model = "m", ttc.stage = "import", ttc.seed = 5} {
  func.func @forward(%x: tensor<4x6xf32> {ttc.name = "x"}) ->
      (tensor<4x6xf32> {ttc.name = "y"}, tensor<6xf32> {ttc.name = "new", ttc.updates = "mean"}) {
    %w = ttc.param() {sym = "w", value = #ttc.weight<"w", tensor<6x6xf32>>} : () -> tensor<6x6xf32>
    %m = ttc.state() {sym = "mean", value = #ttc.weight<"mean", tensor<6xf32>>} : () -> tensor<6xf32>
    %h = nn.matmul(%x, %w, _) {transpose_a = false, transpose_b = true} : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32> loc("first")
    %n = nn.reduce_mean(%h) {axes = array<i64: 0>, keepdims = false} : (tensor<4x6xf32>) -> tensor<6xf32> loc("mean")
    %u = nn.add(%m, %n) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32> loc("sum")
    %y = nn.sub(%h, %m) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32> loc("last")
    func.return %y, %u : tensor<4x6xf32>, tensor<6xf32>
  }
}
"""


class Network(ttc.nn.Module):
    """Its first weight is read at the end again, and so is its input; it has two outputs."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__("network")
        self.first, self.second = (ttc.nn.Parameter(rng.standard_normal((6, 6)).astype(np.float32) / 3) for _ in range(2))

    def forward(self, x: Any) -> Any:
        hidden = ops.tanh(ops.matmul(x, self.first, name="a"), name="b")
        later = ops.matmul(hidden, self.second, name="c")
        return ops.add(ops.matmul(ops.add(later, hidden), self.first, transpose_b=True, name="d"), x)


def rows(rng: np.random.Generator, count: int = 12) -> tuple[Any, Any]:
    x, y = (rng.standard_normal((count, 6)).astype(np.float32) for _ in range(2))
    return x, y


def test_what_passes_between_stages(rng: np.random.Generator) -> None:
    source = source_of(Network(rng), (np.zeros((4, 6), np.float32),))
    parts = cut_imported(source, {"c": 1, "d": 2}, strict=True, training=True)
    taken = [[str(a.type) for a in entry_functions(part.module)[0].body.block.args] for part in parts]
    rows_, weight = "tensor<4x6xf32>", "tensor<6x6xf32>"
    assert taken == [[rows_], [rows_, weight, rows_], [rows_, weight, rows_]]
    assert [port.name for port in ports(entry_functions(parts[-1].module)[0])[1]] == [
        port.name for port in ports(entry_functions(source.module)[0])[1]
    ]
    for_inference = cut_imported(source, {"c": 1, "d": 2}, strict=True, training=False)
    assert [len(entry_functions(part.module)[0].body.block.args) for part in for_inference] == [1, 2, 2]


@pytest.mark.parametrize("mode", ["sequential", "threads"])
def test_a_module_by_hand_with_a_shared_weight_trains_as_the_whole(mode: str, rng: np.random.Generator) -> None:
    network, (x, y) = Network(rng), rows(rng)
    given = {"loss": "mse", "optimizer": "adamw:lr=0.01", "accumulate": 3}
    found = []
    for where in ({**HOST, "example_inputs": (x[:4],)}, {"devices": ["host", "n150", "host"], "plan": {"c": 1, "d": 2}, "mode": mode}):
        with ttc.training(network, **given, **where) as executor:
            losses = [float(executor(x, y)[1]) for _ in range(3)]
            found.append((losses, executor.weights()))
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=2e-5)
    assert found[0][1].keys() == found[1][1].keys()
    for name, value in found[0][1].items():
        np.testing.assert_allclose(found[1][1][name], value, rtol=2e-4, atol=2e-5, err_msg=name)


@pytest.mark.parametrize("plan", [{"second": 1}, {"w2": 1}])
def test_a_file_by_names_of_nodes_or_parameters(plan: dict[str, int], tmp_path: Path) -> None:
    path = tmp_path / "digits.onnx"
    write_model(path)
    given = samples(4 * BATCH)
    losses = []
    for where in (HOST, {"devices": ["host", "host"], "plan": plan}):
        with ttc.training(path, loss="cross_entropy", optimizer="sgd:lr=0.1", accumulate=2, replicas=2, **where) as executor:
            losses.append([float(executor(given["x"], given["target"])[1]) for _ in range(3)])
    np.testing.assert_allclose(losses[1], losses[0], rtol=2e-5)
    with ttc.Pipeline(path, devices=["host", "host"], plan=plan) as pipeline:
        pipeline.push(x=given["x"][:BATCH])
        assert pipeline.run_inference().get().shape == (BATCH, 3)
        assert [sorted(names) for names in pipeline.parameters().values()] == [["b1", "w1"], ["b2", "w2"]]


def test_a_state_is_of_one_stage(tmp_path: Path, rng: np.random.Generator) -> None:
    path, x = tmp_path / "norm.mlir", rng.standard_normal((4, 6)).astype(np.float32)
    path.write_text(NORM)
    whole = ttc.compile(path, target="host")
    with ttc.Pipeline(path, devices=["host", "host"], plan={"mean": 1}) as pipeline, ttc.Executor(whole) as executor:
        for _ in range(2):
            pipeline.push(x)
            found, wanted = pipeline.run_inference().get(), executor.run({"x": x})["y"]
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    with ttc.Pipeline(path, devices=["host", "host"], plan={"last": 1}) as pipeline:
        pipeline.push(x)
        with pytest.raises(Error, match="variable 'mean' is changed in one stage, and read in another") as raised:
            pipeline.run_inference()
    assert raised.value.code == "E0503"


def test_a_file_has_no_marks(tmp_path: Path) -> None:
    path = tmp_path / "digits.onnx"
    write_model(path)
    with ttc.Pipeline(path, devices=["host", "host"]) as pipeline:
        pipeline.push(np.zeros((BATCH, FEATURES), np.float32))
        with pytest.raises(Error, match="no module of PyTorch is cut by a plan") as raised:
            pipeline.run_inference()
    assert raised.value.code == "E0101"
