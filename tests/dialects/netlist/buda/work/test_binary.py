"""Functions of two operands, and the steps to and from integers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.dialects.netlist.buda.work.meanings import buda, check_error, random, result, tensor, tms
from ttc.dialects.netlist.buda.form import Tm

S = 32


@pytest.mark.parametrize(("type_", "fn"), [("add", np.add), ("subtract", np.subtract), ("multiply", np.multiply), ("maximum", np.maximum)])
def test_element_by_element(type_: str, fn: np.ufunc) -> None:
    a, b = random(2, S, 2 * S), random(1, S, S)
    op = buda(type_, t=2, mblock=(1, 2), tms=tms(i1=[Tm("broadcast", ("c", 2)), Tm("broadcast", ("z", 2))]))
    np.testing.assert_array_equal(result(op, a, b), fn(a, np.tile(b, (2, 1, 2))))


def test_small_tiles() -> None:
    a, b = random(1, 2 * 8, S), random(1, 2 * 8, S)
    op = buda("add", mblock=(2, 1), tile_dim=(8, 32))
    np.testing.assert_array_equal(result(op, a, b, types=[tensor(a, tile=(8, 32)), tensor(b, tile=(8, 32))]), a + b)


def test_quantization() -> None:
    x, scale = random(1, S, S) * 100, np.full((1, S, S), 0.5, np.float32)
    op = buda("quantization", attributes={"zero_point": 2.0}, out_df="Int8")
    np.testing.assert_array_equal(result(op, x, scale).astype(np.float32), np.clip(np.rint(x * np.float32(0.5) + 2), -127, 127))


def test_requantization(rng: np.random.Generator) -> None:
    x, scale = rng.integers(-999, 1000, (1, S, S)).astype(np.int32), np.full((1, S, S), 0.25, np.float32)
    op = buda("requantization", attributes={"zero_point": -1.0}, out_df="Int8")
    found = result(op, x, scale, types=[tensor(x, "Int32")])
    np.testing.assert_array_equal(found.astype(np.float32), np.clip(np.rint(x * 0.25 - 1), -127, 127))


def test_dequantization(rng: np.random.Generator) -> None:
    x, scale = rng.integers(-9, 10, (1, S, S)).astype(np.int8), np.full((1, S, S), 0.25, np.float32)
    op = buda("dequantization", attributes={"zero_point": 3.0})
    np.testing.assert_array_equal(result(op, x, scale, types=[tensor(x, "Int8")]), (x - np.float32(3)) * np.float32(0.25))


def test_what_does_not_fit() -> None:
    check_error("E0401", buda("add"), (1, S, S), (2, S, S))
    check_error("E0401", buda("quantization"), (1, S, S), (1, S, 2 * S))
    check_error("E0401", buda("matmul", attributes={"requant": True}), (1, S, S), (1, S, S), (2, S, S))
    check_error("E0401", buda("add"), (1, S, S))
    check_error("E0402", buda("dequantization", attributes={"zero_point": "three"}), (1, S, S), (1, S, S))
    check_error("E0401", buda("add"), (S, S), (1, S, S))
