"""StableHLO text: a module that parses, with names, sources and constants that people can read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.ttc.exporters.one_op import graph_of_op, graph_of_text
from tests.ttc.exporters.stablehlo.interpreter import parsed
from ttc.dialects.core.errors import Error
from ttc.exporters.refusals import RefusedOps
from ttc.exporters.request import ExportRequest
from ttc.exporters.stablehlo.entry import exported, stablehlo_text
from ttc.exporters.stablehlo.rules import HLO_RULES
from ttc.options import CompileOptions

RECTIFIED = """builtin.module attributes {ttc.stage = "import", ttc.model = "2 steps"} {
  func.func @forward(%0: tensor<2x3xf32> {ttc.name = "the x"}) -> (tensor<2x3xf32> {ttc.name = "y"}, tensor<2x3xf32> {ttc.name = "x"}) {
    %1 = nn.relu(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("rectified")
    func.return %1, %0 : tensor<2x3xf32>, tensor<2x3xf32>
  }
}
"""


def test_names_and_sources(tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_text(RECTIFIED)
    text = exported(path, ExportRequest(CompileOptions()))[""].decode()
    assert text == exported(path, ExportRequest(CompileOptions()))[""].decode()
    kind = "tensor<2x3xf32>"
    assert text.splitlines() == [
        "module @_2_steps {",
        f'  func.func public @main(%the_x: {kind} loc("the x")) -> ({kind} {{jax.result_info = "y"}}, {kind} {{jax.result_info = "x"}}) {{',
        f'    %constant = "stablehlo.constant"() {{value = dense<0.0> : {kind}}} : () -> {kind}',
        f'    %relu = "stablehlo.maximum"(%the_x, %constant) : ({kind}, {kind}) -> {kind} loc("rectified")',
        f"    func.return %relu, %the_x : {kind}, {kind}",
        "  }",
        "}",
    ]
    parsed(text)


def test_several_sources_and_characters_that_end_strings() -> None:
    text = """func.func @f(%0: tensor<2xf32>) -> tensor<2xf32> {
  %1 = nn.exp(%0) : (tensor<2xf32>) -> tensor<2xf32> loc(fused["a \\22b\\22", "größe"])
  func.return %1 : tensor<2xf32>
}"""
    found = stablehlo_text(graph_of_text(text))
    assert 'loc(fused["a \\22b\\22", "größe"])' in found
    parsed(found)


def test_weights_keep_their_names_and_bytes(rng: np.random.Generator) -> None:
    arrays = [rng.random((2, 20), np.float32), np.arange(20, dtype=np.float32)]
    text = stablehlo_text(graph_of_op("add", arrays, {}, [1]))
    digits = arrays[1].astype("<f4").tobytes().hex().upper()
    assert f'    %w1 = "stablehlo.constant"() {{value = dense<"0x{digits}"> : tensor<20xf32>}} : () -> tensor<20xf32>\n' in text
    parsed(text)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (np.array([1.5, -2, 1e-30, np.nan], np.float32), "dense<[1.5, -2.0, 1.0e-30, 0x7FC00000]> : tensor<4xf32>"),
        (np.array([[np.inf], [1e20]], np.float64), "dense<[[0x7FF0000000000000], [1.0e+20]]> : tensor<2x1xf64>"),
        (np.full((3, 500), -np.inf, np.float16), "dense<0xFC00> : tensor<3x500xf16>"),
        (np.array([True, False]), "dense<[true, false]> : tensor<2xi1>"),
        (np.array([[255], [1]], np.uint8), "dense<[[255], [1]]> : tensor<2x1xui8>"),
        (np.zeros((2, 0, 3), np.int64), "dense<> : tensor<2x0x3xi64>"),
    ],
)
def test_small_constants_are_numbers(value: np.ndarray, wanted: str) -> None:
    text = stablehlo_text(graph_of_op("identity", [value], {}, [0]))
    assert f"{{value = {wanted}}}" in text
    parsed(text)


def test_many_truth_values_are_bytes_that_are_converted() -> None:
    value = np.arange(40) % 3 == 0
    text = stablehlo_text(graph_of_op("not", [value], {}, [0]))
    assert f'dense<"0x{value.tobytes().hex()}"> : tensor<40xui8>' in text
    assert '"stablehlo.convert"(%w0) : (tensor<40xui8>) -> tensor<40xi1>' in text
    parsed(text)


def test_all_refused_ops_are_named_at_once() -> None:
    text = """func.func @f(%0: tensor<3x3xf32>) -> (tensor<f32>, tensor<3x3xf32>) {
  %1 = nn.det(%0) : (tensor<3x3xf32>) -> tensor<f32> loc("volume")
  %2 = nn.abs(%1) : (tensor<f32>) -> tensor<f32>
  %3 = nn.cholesky(%0) : (tensor<3x3xf32>) -> tensor<3x3xf32> loc("root")
  func.return %2, %3 : tensor<f32>, tensor<3x3xf32>
}"""
    with pytest.raises(RefusedOps) as caught:
        stablehlo_text(graph_of_text(text))
    assert [row.line() for row in caught.value.rows] == [
        "nn.det (volume): StableHLO has no determinants",
        "nn.cholesky (root): factorizations are not exported",
    ]


def test_an_input_whose_size_is_not_known_is_refused() -> None:
    text = "func.func @f(%0: tensor<?x3xf32>) -> tensor<?x3xf32> {\n  func.return %0 : tensor<?x3xf32>\n}"
    with pytest.raises(Error, match="x0: shapes have to be known") as caught:
        stablehlo_text(graph_of_text(text))
    assert (caught.value.code, caught.value.hint) == ("E0503", "--batch or --shape says the sizes")


def test_a_removed_rule_is_missed(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(HLO_RULES.rules(), "sin")
    with pytest.raises(RefusedOps, match=r"StableHLO has no form of 1 op: nn\.sin"):
        stablehlo_text(graph_of_op("sin", [rng.random((2, 3), np.float32)], {}))
