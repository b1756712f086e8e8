"""Elementwise ops with Buda's numeric variants, against numpy and the standard library."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.draws import generator
from tests.ops.tile_cases import check_error, check_op, run_op
from ttc.dialects.tile.base import TileOp
from ttc.dialects.tile.sfpu import BinaryOp, ReluOp, RescaleOp, SfpuOp

X = generator("tile_sfpu.X").uniform(-3, 3, (1, 32, 64)).astype(np.float32)
LARGEST = np.finfo(np.float32).max
EPS = np.finfo(np.float32).eps


def gate(x: float) -> float:
    return (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2


FUNCTIONS: list[tuple[str, dict[str, Any], Callable[[float], float]]] = [
    ("abs", {}, abs),
    ("cosine", {}, math.cos),
    ("exp", {}, math.exp),
    ("gelu", {}, lambda x: x * gate(x)),
    ("gelu_derivative", {}, lambda x: gate(x) + x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)),
    ("lrelu", {"parameter": 0.25}, lambda x: x if x > 0 else 0.25 * x),
    ("power", {"parameter": 3.0}, lambda x: x**3),
    ("reciprocal", {}, lambda x: 1 / x),
    ("sigmoid", {}, lambda x: 1 / (1 + math.exp(-x))),
    ("sine", {}, math.sin),
    ("square", {}, lambda x: x * x),
    ("tanh", {}, math.tanh),
]


@pytest.mark.parametrize(("fn", "attrs", "expected"), FUNCTIONS, ids=[f[0] for f in FUNCTIONS])
def test_functions(fn: str, attrs: dict[str, Any], expected: Callable[[float], float]) -> None:
    values = np.array([expected(float(x)) for x in X.ravel()], np.float32).reshape(X.shape)
    found = run_op(SfpuOp, [X], {"fn": fn, **attrs})
    np.testing.assert_allclose(found, values, rtol=2e-6, atol=2e-6)


def test_roots_and_logarithms() -> None:
    x = np.abs(X)
    np.testing.assert_allclose(run_op(SfpuOp, [x], {"fn": "sqrt"}), np.sqrt(x.astype(np.float64)), rtol=1e-6)
    np.testing.assert_allclose(run_op(SfpuOp, [x], {"fn": "log"}), np.log(x.astype(np.float64)), rtol=1e-5, atol=1e-6)


def test_what_the_reference_keeps_finite() -> None:
    x = np.array([[0.0, 100.0, np.inf, -np.inf]], np.float32)
    assert run_op(SfpuOp, [x], {"fn": "exp"}).tolist() == [[1.0, LARGEST, LARGEST, 0.0]]
    assert run_op(SfpuOp, [x[:, :1]], {"fn": "log"})[0, 0] == np.log(EPS)
    assert run_op(SfpuOp, [x[:, :1]], {"fn": "reciprocal"})[0, 0] == 1 / EPS


def test_a_root_of_what_has_none() -> None:
    found = run_op(SfpuOp, [np.array([[-1.0, math.nan, 4.0]], np.float32)], {"fn": "sqrt"})
    np.testing.assert_array_equal(found, [[math.nan, math.nan, 2.0]])


@pytest.mark.parametrize("rest", ["zero", "input"])
def test_vector_modes_compute_a_part_of_every_tile(rest: str) -> None:
    rows, columns = np.zeros(X.shape, np.bool_), np.zeros(X.shape, np.bool_)
    rows[:, :4] = True
    columns[:, :, :16] = columns[:, :, 32:48] = True
    other = X if rest == "input" else np.zeros_like(X)
    for vector, part in (("r", rows), ("c", columns)):
        attrs = {"fn": "square", "vector": vector, "rest": rest, "tile": (32, 32)}
        check_op(SfpuOp, [X], attrs, np.where(part, X * X, other))


def test_small_tiles_are_computed_whole() -> None:
    check_op(SfpuOp, [X], {"fn": "square", "vector": "r", "tile": (16, 32)}, X * X)


def mersenne_twister(count: int) -> list[int]:
    """Words of MT19937 from its default seed 5489, from its definition."""
    state = [5489]
    for i in range(1, 624):
        state.append((1812433253 * (state[-1] ^ state[-1] >> 30) + i) & 0xFFFFFFFF)
    found: list[int] = []
    while len(found) < count:
        for i in range(624):
            y = state[i] & 0x80000000 | state[(i + 1) % 624] & 0x7FFFFFFF
            state[i] = state[(i + 397) % 624] ^ y >> 1 ^ (0x9908B0DF if y & 1 else 0)
        for y in state:
            y ^= y >> 11
            y ^= y << 7 & 0x9D2C5680
            y ^= y << 15 & 0xEFC60000
            found.append((y ^ y >> 18) & 0xFFFFFFFF)
    return found[:count]


def test_dropout_draws_anew_for_every_tile() -> None:
    words = mersenne_twister(2 * 32 * 32)
    kept = [(words[2 * i] + (words[2 * i + 1] << 32)) / 2**64 >= 0.25 for i in range(32 * 32)]
    mask = np.array(kept).reshape(32, 32)
    assert 0.7 < mask.mean() < 0.8
    expected = X * np.concatenate([mask, mask], axis=1) * np.float32(1 / 0.75)
    check_op(SfpuOp, [X], {"fn": "dropout", "parameter": 0.25, "tile": (32, 32)}, expected)
    check_op(SfpuOp, [X], {"fn": "dropout", "parameter": 1.0, "tile": (32, 32)}, X * 0)


@pytest.mark.parametrize(
    ("fn", "expected"), [("add", np.add), ("subtract", np.subtract), ("maximum", np.maximum), ("multiply", np.multiply)]
)
def test_binary(fn: str, expected: Callable[..., Any]) -> None:
    other = np.ascontiguousarray(X[:, ::-1])
    check_op(BinaryOp, [X, other], {"fn": fn}, expected(X, other))


def test_a_product_with_zero_is_zero() -> None:
    a = np.array([[0.0, np.inf, 2.0, np.nan]], np.float32)
    b = np.array([[np.inf, 0.0, np.inf, -0.0]], np.float32)
    check_op(BinaryOp, [a, b], {"fn": "multiply"}, np.array([[0.0, 0.0, np.inf, 0.0]], np.float32))


def test_relu() -> None:
    x = np.array([[-1.0, 0.0, 0.5, 2.0, np.nan]], np.float32)
    check_op(ReluOp, [x], {"mode": "min", "threshold": 1.0}, np.array([[0.0, 0.0, 0.0, 2.0, 0.0]], np.float32))
    check_op(ReluOp, [x], {"mode": "max", "threshold": 1.0}, np.array([[0.0, 0.0, 0.5, 1.0, 0.0]], np.float32))


def test_rescale() -> None:
    scale = np.full_like(X, 0.5)
    for kind in ("quantization", "requantization"):
        check_op(RescaleOp, [X, scale], {"kind": kind, "zero_point": 3.0}, X * np.float32(0.5) + 3)
    check_op(RescaleOp, [X, scale], {"kind": "dequantization", "zero_point": 3.0}, (X - 3) * np.float32(0.5))


@pytest.mark.parametrize(
    ("kind", "shapes", "attrs", "code"),
    [
        (SfpuOp, [(32, 32)], {"fn": "erf"}, "E0402"),
        (SfpuOp, [(32, 32)], {"fn": "exp", "vector": "z"}, "E0402"),
        (SfpuOp, [(32, 32)], {"fn": "exp", "rest": "noise"}, "E0402"),
        (SfpuOp, [(32, 32)], {"fn": "power", "parameter": 1e9}, "E0402"),
        (SfpuOp, [(32, 32)], {"fn": "dropout", "parameter": 1.5}, "E0402"),
        (SfpuOp, [(32, 33)], {"fn": "exp", "vector": "r"}, "E0401"),
        (BinaryOp, [(2, 3), (2, 3)], {"fn": "divide"}, "E0402"),
        (BinaryOp, [(2, 3), (2, 1)], {"fn": "add"}, "E0401"),
        (ReluOp, [(2, 3)], {"mode": "none", "threshold": 0.0}, "E0402"),
        (ReluOp, [(2, 3)], {"mode": "min", "threshold": math.nan}, "E0402"),
        (RescaleOp, [(2, 3), (2, 3)], {"kind": "quantize", "zero_point": 0.0}, "E0402"),
        (RescaleOp, [(2, 3), (3,)], {"kind": "quantization", "zero_point": 0.0}, "E0401"),
    ],
)
def test_what_does_not_fit(kind: type[TileOp], shapes: list[tuple[int, ...]], attrs: dict[str, Any], code: str) -> None:
    check_error(kind, shapes, attrs, code)
