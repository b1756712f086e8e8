"""Quantization on the device: only where integers keep their range."""

from __future__ import annotations

import pytest

from tests.passes.tiles import apply
from ttc.passes.nn_to_tile.lower_to_tile import LowerToTile


def quantize(dtype: str) -> str:
    return f"""(%x: f32[2, 40], %s: f32[40], %z: {dtype}[40])
    %0 = nn.quantize(%x, %s, %z) : (f32[2, 40], f32[40], {dtype}[40]) -> {dtype}[2, 40]
    return %0 : {dtype}[2, 40]"""


@pytest.mark.parametrize(("dtype", "target"), [("i8", "n150"), ("ui8", "n150"), ("i32", "n150"), ("i16", "host")])
def test_elementwise_in_a_format_of_its_own_range(dtype: str, target: str) -> None:
    outcome = apply(LowerToTile(), quantize(dtype), target)
    assert outcome.names() == ["tile.map"]


def test_on_the_host_where_another_range_holds_the_result() -> None:
    outcome = apply(LowerToTile(), quantize("i16"), "n150")
    assert "nn.quantize" in outcome.names()
    assert outcome.missed() == ["nn.quantize runs on the host: Int32 has not the range of int16"]


def test_dequantize_is_elementwise() -> None:
    fragment = """(%x: i8[2, 40], %s: f32[40], %z: i8[40])
    %0 = nn.dequantize(%x, %s, %z) : (i8[2, 40], f32[40], i8[40]) -> f32[2, 40]
    return %0 : f32[2, 40]"""
    outcome = apply(LowerToTile(), fragment, "n150")
    assert outcome.names() == ["tile.map"]
