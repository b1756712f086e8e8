"""Matrix products against numpy: bias, sums over z, integers, small tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.dialects.netlist.buda.work.meanings import buda, check_error, random, result, tensor, tms
from ttc.dialects.netlist.buda.form import Tm

S = 32


def inner(m_k: int, u_kt: int = 1, **more: Any) -> dict[str, Any]:
    return {"m_k": m_k, "u_kt": u_kt, **more}


def test_products_of_matrices() -> None:
    a, b = random(3, 2 * S, 2 * S), random(3, S, 2 * S)
    op = buda("matmul", t=3, mblock=(2, 1), tms=tms(i1=[Tm("transpose")]), attributes=inner(2))
    np.testing.assert_allclose(result(op, a, b), a @ b.swapaxes(1, 2), rtol=1e-4, atol=1e-4)


def test_the_first_row_of_a_bias_counts() -> None:
    a, b, bias = random(1, 2 * S, S), random(1, S, 2 * S), random(1, 2 * S, 2 * S)
    op = buda("matmul", mblock=(2, 2), attributes=inner(1, bias=True))
    rows = np.repeat(bias[:, ::S], S, axis=1)
    np.testing.assert_allclose(result(op, a, b, bias), a @ b + rows, rtol=1e-4, atol=1e-4)


def test_a_bias_broadcasts_within_tiles() -> None:
    a, b, bias = random(1, 2 * S, S), random(1, S, 2 * S), random(1, S, S)
    op = buda("matmul", mblock=(2, 2), tms=tms(i2=[Tm("broadcast", ("r", 2)), Tm("broadcast", ("c", 2))]), attributes=inner(1, bias=True))
    np.testing.assert_allclose(result(op, a, b, bias), a @ b + bias[0, 0, 0], rtol=1e-4, atol=1e-4)


def test_groups_of_products_are_summed() -> None:
    a, b = random(6, S, S), random(6, S, 2 * S)
    op = buda("matmul", t=2, mblock=(1, 2), attributes=inner(1, accumulate=True, z=3))
    expected = (a @ b).reshape(2, 3, S, 2 * S).sum(axis=1)
    np.testing.assert_allclose(result(op, a, b), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["requant", "dequant"])
@pytest.mark.parametrize("biased", [False, True])
def test_integers(kind: str, biased: bool, rng: np.random.Generator) -> None:
    a, b = (rng.integers(-9, 10, (1, S, S)).astype(np.int8) for _ in range(2))
    bias, scale = rng.integers(-99, 100, (1, S, S)).astype(np.int32), np.full((1, S, S), 0.25, np.float32)
    total = a.astype(np.float32) @ b.astype(np.float32) + (bias if biased else 0)
    if kind == "requant":
        expected = np.clip(np.rint(total * 0.25 + 3), -127, 127)
    else:
        expected = (total - 3) * np.float32(0.25)
    attributes = inner(1, bias=biased, zero_point=3.0) | {kind: True}
    op = buda("matmul", attributes=attributes, out_df="Int8" if kind == "requant" else "Float32")
    arrays = (a, b, bias, scale) if biased else (a, b, scale)
    formats = ("Int8", "Int8", "Int32", "Float32") if biased else ("Int8", "Int8", "Float32")
    found = result(op, *arrays, types=[tensor(x, f) for x, f in zip(arrays, formats, strict=True)])
    np.testing.assert_array_equal(found.astype(np.float32), expected)


def test_gelu_and_relu() -> None:
    a, b = random(1, S, S), random(1, S, S)
    y = a @ b
    gelu = y * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3))) / 2
    np.testing.assert_allclose(result(buda("matmul", attributes=inner(1, sfpu_op="gelu")), a, b), gelu, rtol=1e-4, atol=1e-4)
    relu = {"relu_en": True, "relu_mode": "max", "relu_threshold": 2.0}
    np.testing.assert_allclose(result(buda("matmul", attributes=inner(1, **relu)), a, b), np.clip(y, 0, 2), rtol=1e-4, atol=1e-4)


def test_small_tiles_are_frames_of_zeros() -> None:
    a, b = random(1, 2 * 16, S), random(1, S, S)
    op = buda("matmul", mblock=(2, 1), tile_dim=(16, 32), attributes=inner(1))
    found = result(op, a, b, types=[tensor(a, tile=(16, 32)), tensor(b)])
    np.testing.assert_allclose(found, a @ b, rtol=1e-4, atol=1e-4)
    op = buda("matmul", mblock=(2, 1), attributes=inner(1))
    found = result(op, a, b, types=[tensor(a, tile=(16, 32)), tensor(b)])
    np.testing.assert_allclose(found.reshape(2, S, S)[:, :16], (a @ b).reshape(2, 16, S), rtol=1e-4, atol=1e-4)
    assert not found.reshape(2, S, S)[:, 16:].any()


@pytest.mark.parametrize(
    ("attributes", "shapes", "code"),
    [
        ({}, [(1, S, S)], "E0401"),
        ({}, [(1, S, 2 * S), (1, S, S)], "E0401"),
        ({}, [(2, S, S), (1, S, S)], "E0401"),
        ({"bias": True}, [(1, S, S), (1, S, S), (1, S, 2 * S)], "E0401"),
        ({"accumulate": True, "z": 2}, [(3, S, S), (3, S, S)], "E0401"),
        ({"bias": "yes"}, [(1, S, S), (1, S, S)], "E0402"),
        ({"identity": True, "fracture_factor": 0}, [(1, S, S)] * 3, "E0402"),
        ({"identity": True, "fracture_factor": 2}, [(1, S, S)] * 3, "E0402"),
        ({"identity": True}, [(1, S, S), (1, S, 2 * S), (1, S, S)], "E0401"),
        ({"sfpu_op": "exp"}, [(1, S, S), (1, S, S)], "E0503"),
        ({}, [(1, 2 * S, S), (1, S, S)], "E0602"),
    ],
)
def test_what_does_not_fit(attributes: dict[str, Any], shapes: list[tuple[int, ...]], code: str) -> None:
    check_error(code, buda("matmul", attributes=attributes), *shapes)
