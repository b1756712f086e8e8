"""Products and convolutions of integers, which are exact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.draws import rng_of_test
from tests.runtime.engines.native.graphs import Given, Ran, ran
from ttc.dialects.core.kernels.windows import window_counts, windows
from ttc.dialects.core.plain.functions import Function, Plain, TensorType, Work

LEVELS = ("avx512", "avx2", "generic")
SIZES = (1, 2, 15, 16, 17, 31, 33, 67)
CODES = {"Int8": np.int8, "UInt8": np.uint8}
PLAIN = {"transpose_a": False, "transpose_b": False}


def codes(shape: Sequence[int], format: str) -> NDArray:
    info = np.iinfo(CODES[format])
    return rng_of_test().integers(info.min, info.max + 1, shape).astype(info.dtype)


def widened(operand: int, first: int, shape: Sequence[int], zero: int) -> list[Work]:
    """An operand as integers of 32 bits, less the one in operand `zero`; the last value is number first + 1."""
    wide = TensorType(tuple(shape), "Int32")
    return [Work("tile.cast", (operand,), {"to": "int32"}, (wide,)), Work("tile.map", (first, zero), {"fn": "sub"}, (wide,))]


def product(
    a: NDArray,
    b: NDArray,
    formats: tuple[str, str],
    zeros: tuple[int, int],
    op: str,
    shape: Sequence[int],
    attrs: dict[str, Any],
    **named: Any,
) -> Ran:
    """(a - its zero) times (b - its zero), both constants but a; b may be computed: constant=False."""
    constant = named.pop("constant", True)
    given = [Given(a, formats[0]), Given(b, formats[1], constant), *(Given(np.array(z, np.int32), "Int32", constant=True) for z in zeros)]
    works = [*widened(0, 4, a.shape, 2), *widened(1, 6, b.shape, 3), Work(op, (5, 7), attrs, (TensorType(tuple(shape), "Int32"),))]
    return ran(works, given, **{"level": "avx512", **named})


def exact(found: Ran, kernel: str = "IntegerGemm") -> None:
    assert not found.refusals
    assert kernel in found.kernels
    np.testing.assert_array_equal(found.native, found.reference)


@settings(max_examples=20)
@given(m=st.sampled_from(SIZES), k=st.sampled_from(SIZES), n=st.sampled_from(SIZES), flags=st.integers(0, 15), zero=st.integers(-128, 255))
def test_odd_shapes(m: int, k: int, n: int, flags: int, zero: int) -> None:
    formats = ("Int8" if flags & 1 else "UInt8", "Int8" if flags & 2 else "UInt8")
    a, b = codes((m, k), formats[0]), codes((n, k) if flags & 4 else (k, n), formats[1])
    attrs = {"transpose_a": False, "transpose_b": bool(flags & 4)}
    exact(product(a, b, formats, (zero, -zero // 2), "tile.matmul", (m, n), attrs, constant=bool(flags & 8)))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("zeros", [(0, 0), (255, 0), (-128, 7)])
@pytest.mark.parametrize("shape", [(1, 40, 70), (13, 33, 130), (67, 31, 5)])
def test_instruction_sets(level: str, shape: tuple[int, int, int], zeros: tuple[int, int]) -> None:
    m, k, n = shape
    formats = ("Int8" if zeros[0] < 0 else "UInt8", "Int8")
    exact(product(codes((m, k), formats[0]), codes((k, n), "Int8"), formats, zeros, "tile.matmul", (m, n), PLAIN, level=level))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("left", "right"), [(255, -128), (255, 127), (0, -128)])
def test_extremes(level: str, left: int, right: int) -> None:
    a, b = np.full((7, 4099), left, np.uint8), np.full((4099, 33), right, np.int8)
    found = product(a, b, ("UInt8", "Int8"), (255 - left, 0), "tile.matmul", (7, 33), PLAIN, level=level)
    exact(found)
    assert (found.native == 4099 * (2 * left - 255) * right).all()


@pytest.mark.parametrize("level", LEVELS)
def test_integers_of_32_bits_wrap(level: str, rng: np.random.Generator) -> None:
    a, b = rng.integers(-(2**31), 2**31, (2, 17, 33)).astype(np.int32)[:, :, :31], rng.integers(-(2**31), 2**31, (31, 19)).astype(np.int32)
    works = [Work("tile.matmul", (0, 1), PLAIN, (TensorType((2, 17, 19), "Int32"),))]
    found = ran(works, [Given(np.ascontiguousarray(a), "Int32"), Given(b, "Int32", constant=True)], level=level)
    exact(found)


def test_integers_of_16_bits_wrap_as_they_are_added() -> None:
    a = np.full((5, 8), -(2**15), np.int32)
    works = [Work("tile.matmul", (0, 1), PLAIN, (TensorType((5, 5), "Int32"),))]
    found = ran(works, [Given(a, "Int32", constant=True), Given(a.T.copy(), "Int32", constant=True)])
    exact(found)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("formats", [("UInt8", "Int8"), ("Int8", "UInt8")])
@pytest.mark.parametrize(
    ("shape", "filter_", "moves"),
    [
        ((2, 7, 9, 16), (3, 3, 16, 20), {"pads": (1, 1, 1, 1)}),
        ((1, 9, 8, 3), (5, 5, 3, 17), {"pads": (2, 2, 2, 2), "strides": (2, 2)}),
        ((1, 9, 8, 7), (3, 3, 7, 33), {"pads": (1, 0, 2, 1), "dilations": (2, 2)}),
        ((2, 5, 5, 15), (1, 1, 15, 17), {}),
        ((1, 5, 6, 8), (2, 3, 4, 6), {"groups": 2}),
        ((1, 5, 6, 6), (2, 3, 3, 6), {"groups": 2, "pads": (1, 1, 0, 0)}),
        ((1, 5, 6, 17), (3, 3, 1, 17), {"groups": 17, "pads": (1, 1, 1, 1)}),
        ((1, 5, 6, 5), (3, 3, 1, 10), {"groups": 5, "pads": (1, 1, 1, 1)}),
    ],
)
def test_convolutions(
    shape: tuple[int, ...], filter_: tuple[int, ...], moves: dict[str, Any], formats: tuple[str, str], level: str
) -> None:
    attrs: dict[str, Any] = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1), "groups": 1, **moves}
    counts = window_counts(shape[1:3], windows(filter_[:2], attrs["strides"], attrs["pads"], attrs["dilations"]))
    x, w = codes(shape, formats[0]), codes(filter_, formats[1])
    found = product(x, w, formats, (77, -3), "tile.conv2d", (shape[0], *counts, filter_[3]), attrs, level=level)
    exact(found, "Depthwise" if attrs["groups"] == 17 else "IntegerGemm")


def test_depthwise_sums_that_float32_cannot_hold_are_integers() -> None:
    attrs: dict[str, Any] = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1), "groups": 3}
    x, w = np.full((1, 20, 20, 3), 255, np.uint8), np.full((17, 17, 1, 3), 255, np.uint8)
    w[0, 0] = 254
    exact(product(x, w, ("UInt8", "UInt8"), (0, 0), "tile.conv2d", (1, 4, 4, 3), attrs))


def _requantized(given: int, shape: tuple[int, ...]) -> list[Work]:
    """Sums in value `given` times a scale (2), plus bias (3), as codes around 7 in steps of 0.5, and what these stand for."""
    real, stored = TensorType(shape, "Float32"), TensorType(shape, "UInt8")
    scalar = {name: TensorType((), name) for name in ("Int32", "Float32", "UInt8")}
    body = Function(
        (TensorType(shape, "Int32"), TensorType(shape[-1:], "Float32"), TensorType(shape[-1:], "Float32")),
        (
            Work("ttc.constant", (), {"values": (0,)}, (scalar["Int32"],)),
            Work("ttc.constant", (), {"values": (0.5,)}, (scalar["Float32"],)),
            Work("ttc.constant", (), {"values": (7,)}, (scalar["UInt8"],)),
            Work("tile.map", (0, 1, 3), {"fn": "dequantize"}, (real,)),
            Work("tile.map", (6, 2), {"fn": "add"}, (real,)),
            Work("tile.map", (7, 4, 5), {"fn": "quantize"}, (stored,)),
        ),
        (8,),
    )
    return [Work("tile.eltwise", (given, 2, 3), {}, (stored,), body)]


@pytest.mark.parametrize("level", LEVELS)
def test_sums_are_quantized_before_they_are_stored(level: str, rng: np.random.Generator) -> None:
    shape = (9, 33)
    works = [
        Work("tile.cast", (0,), {"to": "int32"}, (TensorType((9, 20), "Int32"),)),
        Work("tile.cast", (1,), {"to": "int32"}, (TensorType((20, 33), "Int32"),)),
        Work("tile.matmul", (4, 5), PLAIN, (TensorType(shape, "Int32"),)),
        *_requantized(6, shape),
    ]
    scale, bias = (rng.standard_normal((2, 33)) * 1e-3).astype(np.float32)
    given = [Given(codes((9, 20), "UInt8"), "UInt8"), Given(codes((20, 33), "Int8"), "Int8", constant=True)]
    given += [Given(scale, constant=True), Given(bias, constant=True)]
    found = ran(works, given, level=level)
    exact(found)
    assert found.kernels[-1] == "IntegerGemm"
    assert len(np.unique(found.native)) > 3


def test_codes_are_never_stored_wider_than_they_are_multiplied() -> None:
    shape, plain = TensorType((6, 16), "Int32"), dict[str, Plain](PLAIN)
    works = [
        Work("tile.cast", (0,), {"to": "int32"}, (shape,)),
        Work("tile.reshape", (2,), {"shape": (2, 3, 16)}, (TensorType((2, 3, 16), "Int32"),)),
        Work("tile.cast", (1,), {"to": "int32"}, (TensorType((16, 16), "Int32"),)),
        Work("tile.matmul", (3, 4), plain, (TensorType((2, 3, 16), "Int32"),)),
    ]
    found = ran(works, [Given(codes((6, 16), "Int8"), "Int8"), Given(codes((16, 16), "Int8"), "Int8", constant=True)], level="avx2")
    exact(found)
    assert found.kernels == ("Eltwise", "Interleave", "IntegerGemm")


def test_values_that_others_read_too_keep_their_format() -> None:
    shape = TensorType((6, 16), "Int32")
    works = [
        Work("tile.cast", (0,), {"to": "int32"}, (shape,)),
        Work("tile.matmul", (2, 1), dict[str, Plain](PLAIN), (shape,)),
        Work("nn.neg", (2,), {}, (shape,)),
        Work("tile.map", (3, 4), {"fn": "add"}, (shape,)),
    ]
    found = ran(works, [Given(codes((6, 16), "UInt8"), "UInt8"), Given(codes((16, 16), "Int8").astype(np.int32), "Int32", constant=True)])
    assert [op for op, _ in found.refusals] == ["nn.neg"]
    np.testing.assert_array_equal(found.native, found.reference)


def test_a_product_that_runs_in_python_reads_narrow_integers_as_wide_ones() -> None:
    shape = TensorType((6, 16), "Int32")
    works = [
        Work("tile.cast", (0,), {"to": "int32"}, (shape,)),
        Work("tile.cast", (1,), {"to": "int32"}, (TensorType((16, 16), "Int32"),)),
        Work("tile.matmul", (2, 3), {**PLAIN, "activation": "relu"}, (shape,)),
    ]
    found = ran(works, [Given(codes((6, 16), "UInt8"), "UInt8"), Given(codes((16, 16), "Int8"), "Int8")])
    assert [op for op, _ in found.refusals] == ["tile.matmul"]
    np.testing.assert_array_equal(found.native, found.reference)
    assert abs(found.native).max() > 2**15
