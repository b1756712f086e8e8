"""Tests of the pass in passes/nn/fold_shapes.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.passes.nn.fold_shapes import FoldShapes

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(FoldShapes())


def test_comparisons_and_gathers_of_shapes_are_literals(harness: Harness) -> None:
    outcome = harness.numbers(
        FoldShapes(),
        """(%x: tensor<2x3x5xf32>)
        %0 = nn.shape(%x) : (tensor<2x3x5xf32>) -> tensor<3xi64>
        %1 = ttc.constant() {value = #ttc.literal<[-1], tensor<1xi64>>} : () -> tensor<1xi64>
        %2 = nn.gather(%0, %1) {axis = 0} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
        %3 = nn.concat(%2, %1) {axis = 0} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
        %4 = nn.greater(%3, %1) : (tensor<2xi64>, tensor<1xi64>) -> tensor<2xi1>
        return %3, %4 : tensor<2xi64>, tensor<2xi1>""",
    )
    assert "nn." not in outcome.text
    assert "#ttc.literal<[5, -1], tensor<2xi64>>" in outcome.text
    assert "#ttc.literal<[true, false], tensor<2xi1>>" in outcome.text


def test_floats_and_long_results_stay(harness: Harness) -> None:
    outcome = harness.unchanged(
        FoldShapes(),
        """(%x: tensor<2xf32>)
        %0 = ttc.constant() {value = #ttc.literal<[1], tensor<1xi64>>} : () -> tensor<1xi64>
        %1 = nn.expand(%0) {shape = [17]} : (tensor<1xi64>) -> tensor<17xi64>
        %2 = nn.cast(%0) {dtype = f32} : (tensor<1xi64>) -> tensor<1xf32>
        return %1, %2 : tensor<17xi64>, tensor<1xf32>""",
    )
    assert outcome.missed() == ["17 integers are too many for a literal"]


def test_failing_arithmetic_is_left_to_the_run(harness: Harness) -> None:
    outcome = harness.run(
        FoldShapes(),
        """(%x: tensor<2xf32>)
        %0 = nn.shape(%x) : (tensor<2xf32>) -> tensor<1xi64>
        %1 = ttc.constant() {value = #ttc.literal<[4], tensor<1xi64>>} : () -> tensor<1xi64>
        %2 = nn.gather(%0, %1) {axis = 0} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
        return %2 : tensor<1xi64>""",
    )
    assert outcome.count("gather") == 1
    assert outcome.missed()[0].startswith("the arithmetic fails: ")
