"""Formats of single elements: every pattern of 8 and 16 bits, and the ends of their ranges."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ttc.dialects.core.formats import FORMATS, Rounding

SIXTEEN = np.arange(1 << 16, dtype=np.uint16)
EIGHT = np.arange(1 << 8, dtype=np.uint8)
NARROW = {"Float16": (SIXTEEN, 10), "Lf8": (EIGHT, 2), "Fp8_e4m3": (EIGHT, 3)}
PEERS = {"Float16": np.float16, "Lf8": ml_dtypes.float8_e5m2, "Fp8_e4m3": ml_dtypes.float8_e4m3fn}


def stored(name: str, patterns: NDArray) -> NDArray:
    return patterns.view(FORMATS[name].storage)


def patterns(name: str, values: object, rounding: Rounding = "rne") -> list[int]:
    packed = FORMATS[name].pack(np.array(values, np.float32), rounding)
    return packed.view(f"u{packed.dtype.itemsize}").tolist()


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("rounding", ["rne", "truncate"])
def test_every_pattern_but_denormals_comes_back(name: str, rounding: Rounding) -> None:
    format_ = FORMATS[name]
    words, mantissa_bits = NARROW[name]
    magnitude = words & ((1 << (8 * words.itemsize - 1)) - 1)
    canonical = (magnitude >> mantissa_bits != 0) | (magnitude == 0)
    values = format_.unpack(stored(name, words))
    assert np.isfinite(values).all()
    again = format_.pack(values, rounding).view(words.dtype)
    np.testing.assert_array_equal(again, np.where(canonical, words, words ^ magnitude))
    np.testing.assert_array_equal(format_.round(values[canonical]), values[canonical])


@pytest.mark.parametrize("name", NARROW)
def test_ordinary_numbers_are_those_of_the_peer(name: str) -> None:
    words, mantissa_bits = NARROW[name]
    peer = words.view(PEERS[name]).astype(np.float32)
    exponent = (words & ((1 << (8 * words.itemsize - 1)) - 1)) >> mantissa_bits
    ordinary = (exponent > 0) & np.isfinite(peer)
    np.testing.assert_array_equal(FORMATS[name].unpack(stored(name, words))[ordinary], peer[ordinary])


@pytest.mark.parametrize("name", NARROW)
def test_rounding_is_that_of_the_peer(name: str) -> None:
    generator = np.random.default_rng(3)
    values = (generator.normal(size=4096) * 2.0 ** generator.integers(-5, 5, 4096)).astype(np.float32)
    values = values[np.abs(values) > 2**-5]
    np.testing.assert_array_equal(FORMATS[name].round(values), values.astype(PEERS[name]).astype(np.float32))


def test_ranges_of_float16() -> None:
    low = 2.0**-14
    assert patterns("Float16", [low, -low, low * 0.999, low * (1 - 2**-13)]) == [0x0400, 0x8400, 0, 0x0400]
    assert patterns("Float16", [-1e-30, 0, -0.0]) == [0x8000, 0, 0x8000]
    assert patterns("Float16", [low * (1 - 2**-13)], "truncate") == [0]
    assert patterns("Float16", [131008, 131072, 3e38, -np.inf, np.nan]) == [0x7FFF, 0x7FFF, 0x7FFF, 0xFFFF, 0x7FFF]
    assert FORMATS["Float16"].unpack(stored("Float16", np.array([0x7C00, 0x7FFF], np.uint16))).tolist() == [65536, 131008]
    assert patterns("Float16", [1 + 2**-11, 1 + 3 * 2**-11]) == [0x3C00, 0x3C02]
    assert patterns("Float16", [1 + 2**-11, 1 + 3 * 2**-11], "truncate") == [0x3C00, 0x3C01]


def test_ranges_of_8_bits() -> None:
    assert patterns("Lf8", [114688, 2.0**17, 2.0**-14, 2.0**-15, -np.inf, np.nan]) == [0x7F, 0x7F, 0x04, 0, 0xFF, 0x7F]
    assert patterns("Fp8_e4m3", [480, 512, 2.0**-6, 2.0**-7, -np.inf, np.nan]) == [0x7F, 0x7F, 0x08, 0, 0xFF, 0x7F]


def test_every_pattern_of_float16_b() -> None:
    format_ = FORMATS["Float16_b"]
    values = format_.unpack(SIXTEEN.view(ml_dtypes.bfloat16))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(values.view(np.uint32), SIXTEEN.astype(np.uint32) << 16)
    roundings: tuple[Rounding, ...] = ("rne", "truncate")
    for rounding in roundings:
        again = format_.pack(values, rounding).view(np.uint16)
        number = ~np.isnan(values)
        np.testing.assert_array_equal(again[number], SIXTEEN[number])
        assert np.isnan(format_.unpack(format_.pack(values[~number], rounding))).all()


def test_float16_b_rounds_to_even_or_cuts_off() -> None:
    values = np.array([1 + 2**-8, 1 + 3 * 2**-8, -1 - 3 * 2**-8, 3.4e38, np.inf], np.float32)
    format_ = FORMATS["Float16_b"]
    assert format_.round(values).tolist() == [1, 1 + 2**-6, -1 - 2**-6, np.inf, np.inf]
    assert format_.round(values, "truncate").tolist()[:3] == [1, 1 + 2**-7, -1 - 2**-7]
    assert format_.round(values, "truncate")[3] == np.float32(ml_dtypes.finfo(ml_dtypes.bfloat16).max)
    sample = np.random.default_rng(5).normal(size=1000).astype(np.float32)
    np.testing.assert_array_equal(format_.round(sample), sample.astype(ml_dtypes.bfloat16).astype(np.float32))
    low_nan = np.array([0x7F800001], np.uint32).view(np.float32)
    assert np.isnan(format_.round(low_nan)).all()
    assert np.isinf(format_.round(low_nan, "truncate")).all()


def test_tf32_keeps_ten_bits() -> None:
    format_ = FORMATS["Tf32"]
    values = np.array([1 + 2**-11, 1 + 3 * 2**-11, -np.inf, np.nan], np.float32)
    assert format_.round(values).tolist()[:3] == [1, 1 + 2**-9, -np.inf]
    assert np.isnan(format_.round(values)[3])
    assert format_.round(values, "truncate").tolist()[:3] == [1, 1 + 2**-10, -np.inf]
    packed = format_.pack(values)
    assert packed.nbytes == format_.size_bytes(values.shape) == 16
    np.testing.assert_array_equal(format_.unpack(packed), format_.round(values))


@given(st.lists(st.floats(width=32), min_size=1, max_size=40), st.sampled_from(["rne", "truncate"]))
def test_rounding_twice_is_rounding_once(numbers: list[float], rounding: Rounding) -> None:
    values = np.array(numbers, np.float32)
    for name in (*NARROW, "Float16_b", "Tf32"):
        format_ = FORMATS[name]
        once = format_.round(values, rounding)
        np.testing.assert_array_equal(format_.round(once, rounding), once)
        np.testing.assert_array_equal(format_.unpack(format_.pack(values, rounding)), once)


@pytest.mark.parametrize("name", [*NARROW, "Tf32", "Float16_b"])
def test_any_shape(name: str) -> None:
    format_ = FORMATS[name]
    for shape in [(), (0,), (3, 0), (2, 3)]:
        values = np.full(shape, 1.5, np.float32)
        packed = format_.pack(values)
        assert packed.nbytes == format_.size_bytes(shape)
        assert (format_.unpack(packed, shape) == values).all()
        assert format_.round(values).shape == format_.unpack(packed, shape).shape == shape
