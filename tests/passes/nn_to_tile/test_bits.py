"""Ops on bits on the device: shifts to the left only where bits leave at their own width."""

from __future__ import annotations

import pytest

from tests.passes.tiles import apply
from ttc.passes.nn_to_tile.lower_to_tile import LowerToTile


def binary(op: str, dtype: str) -> str:
    return f"""(%x: {dtype}[2, 40], %z: {dtype}[40])
    %0 = nn.{op}(%x, %z) : ({dtype}[2, 40], {dtype}[40]) -> {dtype}[2, 40]
    return %0 : {dtype}[2, 40]"""


@pytest.mark.parametrize(("op", "dtype"), [("shift_left", "i32"), ("shift_left", "ui8"), ("shift_right", "i64"), ("bitwise_xor", "i64")])
def test_elementwise(op: str, dtype: str) -> None:
    outcome = apply(LowerToTile(), binary(op, dtype), "n150")
    assert outcome.names() == ["tile.map"]


def test_a_shift_of_another_width_runs_on_the_host() -> None:
    outcome = apply(LowerToTile(), binary("shift_left", "i64"), "n150")
    assert "nn.shift_left" in outcome.names()
    assert outcome.missed() == ["nn.shift_left runs on the host: numbers may exceed Int32"]
