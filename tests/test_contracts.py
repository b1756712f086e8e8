"""Contracts that hold from the first day: kinds of arguments, several entry functions over one state, derived tensors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ttc

COUNTER = """
builtin.module attributes {ttc.stage = "import", ttc.model = "counter"} {
  func.func @step(%x: tensor<4xf32> {ttc.name = "x"})
      -> (tensor<4xf32> {ttc.name = "y"}, tensor<f32> {ttc.name = "next", ttc.updates = "count"}) {
    %count = ttc.state() {sym = "count", value = #ttc.literal<[3.0], tensor<f32>>} : () -> tensor<f32> loc("count")
    %one = ttc.constant() {value = #ttc.literal<[1.0], tensor<f32>>} : () -> tensor<f32> loc("one")
    %y = nn.add(%x, %count) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("sum")
    %next = nn.add(%count, %one) : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("increment")
    func.return %y, %next : tensor<4xf32>, tensor<f32>
  }
  func.func @peek() -> (tensor<f32> {ttc.name = "now"}) {
    %count = ttc.state() {sym = "count", value = #ttc.literal<[3.0], tensor<f32>>} : () -> tensor<f32> loc("count")
    func.return %count : tensor<f32>
  }
}
"""


@pytest.mark.parametrize("target", ["host", "n150"])
def test_two_programs_share_a_state_through_archive_and_run(tmp_path: Path, target: str) -> None:
    source, archive = tmp_path / "counter.mlir", tmp_path / "counter.tti"
    source.write_text(COUNTER)
    ttc.compile(source, target=target).save(archive)
    x = np.arange(4, dtype=np.float32)
    with ttc.load(archive) as executor, ttc.load(archive) as other:
        assert list(executor.run({"x": x}, program="step")) == ["y"]
        np.testing.assert_array_equal(executor.run({"x": x}, program="step")["y"], x + 4)
        assert executor.run({}, program="peek")["now"] == 5
        assert other.run({}, program="peek")["now"] == 3
        executor.reset()
        assert executor.run({}, program="peek")["now"] == 3


SELECTION = """
builtin.module attributes {ttc.stage = "import", ttc.model = "selection"} {
  func.func @forward(%x: tensor<4x8xf32> {ttc.name = "x"}) -> (tensor<2x?xi64> {ttc.name = "places"}, tensor<?xf32> {ttc.name = "values"}) {
    %y = nn.relu(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("relu")
    %i = nn.non_zero(%y) : (tensor<4x8xf32>) -> tensor<2x?xi64> loc("places")
    %t = nn.transpose(%i) {perm = [1, 0]} : (tensor<2x?xi64>) -> tensor<?x2xi64> loc("transpose")
    %z = nn.gather_nd(%y, %t) {batch_dims = 0} : (tensor<4x8xf32>, tensor<?x2xi64>) -> tensor<?xf32> loc("values")
    func.return %i, %z : tensor<2x?xi64>, tensor<?xf32>
  }
}
"""


@pytest.mark.parametrize("target", ["host", "n150"])
def test_results_may_have_as_many_elements_as_the_data_decides(tmp_path: Path, target: str) -> None:
    source, archive = tmp_path / "selection.mlir", tmp_path / "selection.tti"
    source.write_text(SELECTION)
    ttc.compile(source, target=target).save(archive)
    with ttc.load(archive) as executor:
        for sign in (1, -1, 0):
            x = np.float32(sign) * np.arange(-10, 22, dtype=np.float32).reshape(4, 8)
            found = executor.run({"x": x})
            np.testing.assert_array_equal(found["places"], np.array(np.nonzero(x > 0)))
            np.testing.assert_array_equal(found["values"], x[x > 0])


MASKED = """
builtin.module attributes {ttc.stage = "import", ttc.model = "masked"} {
  func.func @forward(%x: tensor<2x3x40x40xf32> {ttc.name = "x"}, %m: tensor<40x40xf32> {ttc.name = "m"})
      -> (tensor<2x3x40x40xf32> {ttc.name = "y"}) {
    %a = nn.matmul(%x, %x, _) {transpose_a = false, transpose_b = true}
      : (tensor<2x3x40x40xf32>, tensor<2x3x40x40xf32>) -> tensor<2x3x40x40xf32> loc("scores")
    %b = nn.add(%a, %m) : (tensor<2x3x40x40xf32>, tensor<40x40xf32>) -> tensor<2x3x40x40xf32> loc("masked")
    func.return %b : tensor<2x3x40x40xf32>
  }
}
"""


def test_an_input_that_all_samples_share_stays_while_the_batch_is_streamed(tmp_path: Path) -> None:
    source, archive = tmp_path / "masked.mlir", tmp_path / "masked.tti"
    source.write_text(MASKED)
    ttc.compile(source, target="n150").save(archive)
    generator = np.random.default_rng(1)
    with ttc.load(archive) as executor:
        for _ in range(2):
            x, m = (generator.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 40, 40), (40, 40)))
            np.testing.assert_allclose(executor.run({"x": x, "m": m})["y"], x @ x.swapaxes(2, 3) + m, atol=1e-4)
