"""Softmax, its logarithm, and normalizations."""

from __future__ import annotations

import pytest

from tests.passes.tile.vocabulary import expand, one_op


@pytest.mark.parametrize(
    ("shape", "axis", "weights"), [("2, 7, 40", -1, "40"), ("2, 7, 40; 2", 2, "40"), ("2, 7, 8", 1, "7, 8"), ("9", 0, "9")]
)
def test_layer_norm(shape: str, axis: int, weights: str) -> None:
    type_, weight = f"Float32[{shape}]", f"Float32[{weights}]"
    attrs = {"axis": axis, "eps": 1e-5}
    expand(one_op("tile.layer_norm", [type_, weight, weight], type_, attrs))
    expand(one_op("tile.layer_norm", [type_], type_, attrs, absent=2))


@pytest.mark.parametrize(("shape", "axis", "weights"), [("2, 7, 40", -1, "40"), ("2, 7, 8; 2", 1, "7, 8")])
def test_rms_norm(shape: str, axis: int, weights: str) -> None:
    expand(one_op("tile.rms_norm", [f"Float32[{shape}]", f"Float32[{weights}]"], f"Float32[{shape}]", {"axis": axis, "eps": 1e-6}))


@pytest.mark.parametrize("name", ["tile.softmax", "tile.log_softmax"])
@pytest.mark.parametrize("axis", [-1, 0, 1, 2, 3])
@pytest.mark.parametrize("fold", [1, 3])
def test_softmax(name: str, axis: int, fold: int) -> None:
    type_ = f"Float32[2, 3, 4, 5; {fold}]"
    expand(one_op(name, [type_], type_, {"axis": axis}))


def test_intermediates_are_held_in_float32() -> None:
    type_ = "Float16_b[32, 64]"
    outcome = expand(one_op("tile.softmax", [type_], type_, {"axis": -1}), 1e-2)
    assert [op.results[0].type.data.format for op in outcome.ops("tile.map")] == ["Float32"] * 3 + ["Float16_b"]  # pyright: ignore[reportAttributeAccessIssue]
