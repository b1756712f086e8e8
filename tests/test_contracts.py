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
