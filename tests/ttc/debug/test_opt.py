"""Passes on IR text."""

from __future__ import annotations

import pytest

from ttc.debug.opt import TextJob, optimized, parts_of
from ttc.dialects.core.errors import Error
from ttc.options import CompileOptions

TEXT = """func.func @forward(%0: tensor<2x3xf32> {ttc.name = "x"}) -> (tensor<2x3xf32> {ttc.name = "y"}) {
  %1 = nn.relu(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = nn.identity(%1) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}
"""
BAD = TEXT.replace("nn.relu(%0)", "nn.softmax(%0) {axis = 7}")
OPTIONS = CompileOptions(target="host")


def test_passes_and_stages() -> None:
    assert "nn.identity" in optimized(TEXT, "t.mlir", TextJob("", OPTIONS), ())
    after = optimized(TEXT, "t.mlir", TextJob("canonicalize", OPTIONS), ())
    assert "nn.identity" not in after
    assert 'tile.map(%0) {fn = "relu"}' in optimized(TEXT, "t.mlir", TextJob("nn,tile", OPTIONS), ())


def test_ops_without_a_location_get_the_line_they_stand_in() -> None:
    assert 'nn.relu(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("t.mlir":2:3)' in optimized(
        TEXT, "t.mlir", TextJob("", OPTIONS, locations=True), ()
    )
    with pytest.raises(Error) as caught:
        optimized(BAD, "t.mlir", TextJob("", OPTIONS), ())
    assert (caught.value.code, caught.value.where) == ("E0412", "t.mlir:2")


def test_announced_errors() -> None:
    job = TextJob("", OPTIONS, announced=True)
    announced = BAD.replace("  %1", "  // expected-error @+1 {{axis 7 is outside rank 2}}\n  %1")
    assert optimized(announced, "t.mlir", job, ()) == ""
    for text, words in [(BAD, "unexpected error"), (TEXT + "// expected-error {{x}}\n", "did not come")]:
        with pytest.raises(Error) as caught:
            optimized(text, "t.mlir", job, ())
        assert words in caught.value.message


def test_parts_keep_their_lines() -> None:
    parts = parts_of(f"{TEXT}// -----\n{BAD}")
    assert len(parts) == 2
    with pytest.raises(Error) as caught:
        optimized(parts[1], "t.mlir", TextJob("", OPTIONS), ())
    assert caught.value.where == "t.mlir:8"


def test_weights_by_seed() -> None:
    text = """builtin.module attributes {ttc.seed = 3} {
  func.func @forward(%0: tensor<2xf32> {ttc.name = "x"}) -> (tensor<2xf32> {ttc.name = "y"}) {
    %a = ttc.constant() {value = #ttc.weight<"a", tensor<2xf32>>} : () -> tensor<2xf32>
    %b = nn.neg(%a) : (tensor<2xf32>) -> tensor<2xf32>
    %1 = nn.add(%0, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    func.return %1 : tensor<2xf32>
  }
}"""
    after = optimized(text, "t.mlir", TextJob("consteval", OPTIONS), ())
    assert after == optimized(text, "t.mlir", TextJob("consteval", OPTIONS), ())
    assert "nn.neg" not in after.split("func.func private")[0]
