"""Normalizations."""

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
