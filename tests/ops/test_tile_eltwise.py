"""Elementwise tile ops against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.draws import generator
from tests.ops.tile_cases import check_error, check_op
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.core.ir.to_plain import plain_block
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.core.plain.interpret import run
from ttc.dialects.tile.base import dialect
from ttc.dialects.tile.eltwise import CastOp, MapOp

A = generator("tile_eltwise.A").standard_normal((3, 1, 5)).astype(np.float32)
B = generator("tile_eltwise.B").standard_normal((4, 5)).astype(np.float32)


def test_map_broadcasts() -> None:
    check_op(MapOp, [A, B], {"fn": "add"}, A + B)
    check_op(MapOp, [A], {"fn": "relu"}, np.maximum(A, 0))


def test_map_has_the_attributes_of_its_function() -> None:
    check_op(MapOp, [A], {"fn": "leaky_relu", "names": ("alpha",), "values": (0.25,)}, np.where(A >= 0, A, 0.25 * A).astype(np.float32))
    attrs = {"fn": "clip", "names": ("min", "max"), "values": (-0.5, 0.5)}
    check_op(MapOp, [A], attrs, np.clip(A, -0.5, 0.5))
    five, three = np.array([5, -5], np.int32), np.array([3, 3], np.int32)
    check_op(MapOp, [five, three], {"fn": "mod", "names": ("fmod",), "values": (True,)}, np.array([2, -2], np.int32))


def test_map_of_truth_values_gives_zero_and_one() -> None:
    check_op(MapOp, [A, A], {"fn": "less_equal"}, np.ones(A.shape, np.uint8), format="UInt8")
    flags = np.array([0, 1, 1], np.uint8)
    check_op(MapOp, [flags], {"fn": "not"}, np.array([1, 0, 0], np.uint8))
    check_op(MapOp, [flags, A[:1, 0, :3], B[0, :3]], {"fn": "where"}, np.where(flags, A[:1, 0, :3], B[0, :3]), format="Float32")


def test_map_rejects_what_does_not_fit() -> None:
    check_error(MapOp, [(2, 3), (2, 4)], {"fn": "add"}, "E0401")
    check_error(MapOp, [(2, 3)], {"fn": "elu", "names": ("alpha",), "values": (1.0, 2.0)}, "E0402")


@pytest.mark.parametrize(
    ("to", "format_", "expected"),
    [
        ("int64", "Int32", np.array([-1, 0, 2], np.int32)),
        ("bool", "UInt8", np.array([1, 1, 1], np.uint8)),
        (None, "Float16_b", np.array([-1.703125, 0.30078125, 2.5], np.float32)),
    ],
)
def test_cast(to: str | None, format_: str, expected: np.ndarray) -> None:
    check_op(CastOp, [np.array([-1.7, 0.3, 2.5], np.float32)], {"to": to}, expected, format=format_)


REGION = """
func.func @main(%x: !tile.tensor<"2x3xFloat16_b", "rows"> {{ttc.name = "x"}})
    -> (!tile.tensor<"2x3xFloat16_b", "rows"> {{ttc.name = "y"}}) {{
  %y = tile.eltwise(%x) : (!tile.tensor<"2x3xFloat16_b", "rows">) -> !tile.tensor<"2x3xFloat16_b", "rows"> {{
  ^bb0(%a: !tile.tensor<"2x3x{argument}", "rows">):
    %half = ttc.constant() {{value = #ttc.literal<[1.001], tensor<f32>>}} : () -> !tile.tensor<"Float32", "rows">
    %b = {inner}(%a, %half) {{fn = "mul"}} : (!tile.tensor<"2x3xFloat16_b", "rows">, !tile.tensor<"Float32", "rows">)
      -> !tile.tensor<"2x3xFloat32", "rows">
    %c = tile.map(%b, %a) {{fn = "sub"}} : (!tile.tensor<"2x3xFloat32", "rows">, !tile.tensor<"2x3xFloat16_b", "rows">)
      -> !tile.tensor<"2x3xFloat32", "rows">
    tile.yield({result}) : (!tile.tensor<"{type}", "rows">) -> ()
  }}
  func.return %y : !tile.tensor<"2x3xFloat16_b", "rows">
}}
"""
WELL_FORMED = {"argument": "Float16_b", "inner": "tile.map", "result": "%c", "type": "2x3xFloat32"}


def test_a_region_keeps_intermediates_in_float32() -> None:
    module = parse_module(REGION.format(**WELL_FORMED), "region", [dialect])
    verify(module)
    (function,) = entry_functions(module)
    (found,) = run(plain_block(function.body.block), [np.full((2, 3), 256.0, np.float32)])
    np.testing.assert_allclose(found, np.full((2, 3), 0.256), rtol=2**-8)  # between bfloat16 values 256 and 258 there is nothing


@pytest.mark.parametrize("change", [{"result": "%half", "type": "Float32"}, {"inner": "tile.matmul"}])
def test_malformed_regions_do_not_verify(change: dict[str, str]) -> None:
    text = REGION.format(**{**WELL_FORMED, **change})
    if change.get("inner"):
        text = text.replace('tile.matmul(%a, %half) {fn = "mul"}', "tile.concat(%a, %half) {axis = 0}")
    with pytest.raises(Error) as error:
        verify(parse_module(text, "region", [dialect]))
    assert error.value.code == "E0302"
