"""Block formats: by hand, against the algorithm element by element, and at the ends of their ranges."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ttc.dialects.core.formats import FORMATS, Rounding

NAMES = [f"Bfp{bits}{suffix}" for bits in (8, 4, 2) for suffix in ("", "_b")]
FLOATS = st.one_of(
    st.floats(width=32),
    st.floats(-4, 4, width=32),
    st.integers(0, (1 << 32) - 1).map(lambda bits: struct.unpack("f", struct.pack("I", bits))[0]),
)


def packed_by_hand(numbers: NDArray, magnitude_bits: int, wide: bool, rounding: str) -> tuple[int, list[int]]:
    """The documented algorithm on one block: its exponent and its elements, sign above magnitude."""
    parts = []
    for bits in numbers.view(np.uint32).tolist():
        sign, exponent, mantissa = bits >> 31, bits >> 23 & 255, bits & 0x7FFFFF
        if not wide and bits & 0x7FFFFFFF:
            exponent += 15 - 127
            if exponent > 31:
                exponent, mantissa = 31, 0x7FFFFF
            elif exponent < 0:
                exponent, mantissa = 0, 0
        parts.append((sign, exponent if wide else max(exponent, 0), mantissa, bits & 0x7FFFFFFF == 0))
    shared = max(exponent for _, exponent, _, _ in parts)
    codes = []
    for sign, exponent, mantissa, zero in parts:
        shifted = 0 if zero else (mantissa | 1 << 23) >> (shared - exponent)
        dropped = 24 - magnitude_bits
        magnitude = shifted >> dropped if rounding == "truncate" else shifted + (1 << (dropped - 1)) >> dropped
        magnitude = min(magnitude, (1 << magnitude_bits) - 1)
        codes.append((sign << magnitude_bits | magnitude) if magnitude else 0)
    return shared, codes


def unpacked_by_hand(shared: int, codes: list[int], magnitude_bits: int, wide: bool) -> NDArray:
    """The documented way back: the magnitude is shifted up to its leading 1, the exponent goes down with it."""
    found = []
    for code in codes:
        sign, magnitude = code >> magnitude_bits, code & ((1 << magnitude_bits) - 1)
        if not magnitude:
            found.append(0)
            continue
        shift = magnitude_bits - magnitude.bit_length()
        mantissa = magnitude << shift + 24 - magnitude_bits & 0x7FFFFF
        found.append(sign << 31 | shared - shift + (0 if wide else 112) << 23 | mantissa)
    return np.array(found, np.uint32).view(np.float32)


def elements(code_bytes: NDArray, bits: int) -> list[int]:
    """Elements of a block's bytes, the lowest bits first."""
    number = int.from_bytes(code_bytes.tobytes(), "little")
    return [number >> i * bits & ((1 << bits) - 1) for i in range(16)]


@given(st.lists(FLOATS, min_size=16, max_size=16), st.sampled_from(NAMES), st.sampled_from(["rne", "truncate"]))
@settings(max_examples=400)
def test_blocks_are_what_the_document_says(numbers: list[float], name: str, rounding: Rounding) -> None:
    values = np.array(numbers, np.float32)
    bits, wide = int(name[3]), name.endswith("_b")
    packed = FORMATS[name].pack(values, rounding)[0]
    shared, codes = packed_by_hand(values, bits - 1, wide, rounding)
    assert (packed["exponent"], elements(packed["elements"], bits)) == (shared, codes)
    unpacked = FORMATS[name].unpack(packed.reshape(1))
    np.testing.assert_array_equal(unpacked.view(np.uint32), unpacked_by_hand(shared, codes, bits - 1, wide).view(np.uint32))
    once = FORMATS[name].round(values, rounding)
    np.testing.assert_array_equal(once.view(np.uint32), unpacked.view(np.uint32))
    np.testing.assert_array_equal(FORMATS[name].round(once, rounding), once)


def block(*numbers: float) -> NDArray:
    return np.array([*numbers, *[0.0] * (16 - len(numbers))], np.float32)


def test_bfp8_b_by_hand() -> None:
    values = block(1.0, -0.5, 1.99, 1 / 128, -1 / 128, 1 / 256, -1 / 256, 1.5 + 1 / 128)
    packed = FORMATS["Bfp8_b"].pack(values)[0]
    assert packed["exponent"] == 127
    assert packed["elements"].tolist()[:8] == [0x40, 0xA0, 0x7F, 0x01, 0x81, 0, 0, 0x61]
    assert FORMATS["Bfp8_b"].round(values)[:8].tolist() == [1, -0.5, 127 / 64, 1 / 64, -1 / 64, 0, 0, 97 / 64]
    assert FORMATS["Bfp8_b"].round(values, "truncate")[:8].tolist() == [1, -0.5, 127 / 64, 0, 0, 0, 0, 1.5]
    assert not np.signbit(FORMATS["Bfp8_b"].round(values)[6])


def test_small_elements_by_hand() -> None:
    values = block(1.0, -0.5, 0.25, 0.124)
    packed = FORMATS["Bfp4_b"].pack(values)[0]
    assert (packed["exponent"], packed["elements"].tolist()[:2]) == (127, [0xA4, 0x01])
    packed = FORMATS["Bfp2_b"].pack(values)[0]
    assert (packed["exponent"], packed["elements"].tolist()) == (127, [0b1101, 0, 0, 0])
    assert FORMATS["Bfp4_b"].round(values)[:4].tolist() == [1, -0.5, 0.25, 0]
    assert FORMATS["Bfp2_b"].round(values)[:4].tolist() == [1, -1, 0, 0]


def test_exponents_of_five_bits() -> None:
    format_ = FORMATS["Bfp8"]
    assert format_.pack(block(1.0))["exponent"] == [15]
    assert format_.round(block(1e30, -np.inf, 65536.0))[:3].tolist() == [127 * 2.0**10, -127 * 2.0**10, 65536]
    assert format_.round(block(1e-30, -1e-30))[:3].tolist() == [2.0**-15, -(2.0**-15), 0]
    assert format_.round(block(np.nan))[0] == 127 * 2.0**10


def test_infinities_and_nan_with_exponents_of_eight_bits() -> None:
    found = FORMATS["Bfp8_b"].round(block(-np.inf, np.nan, 1.0, -1e30))
    assert found[0] == -np.inf
    assert np.isnan(found[1])
    assert found[2:].tolist() == [0] * 14
    assert np.isinf(FORMATS["Bfp2_b"].round(block(np.nan))[0])


def test_a_mask_erases_its_neighbours() -> None:
    assert FORMATS["Bfp8_b"].round(block(-3.4e38, 5.0))[1] == 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("shape", "blocks"), [((), 1), ((1,), 1), ((0,), 0), ((5, 0), 0), ((0, 40), 0), ((3, 16), 3), ((2, 3, 17), 12), ((70, 3), 70)]
)
def test_shapes(name: str, shape: tuple[int, ...], blocks: int) -> None:
    format_ = FORMATS[name]
    values = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    packed = format_.pack(values)
    assert packed.nbytes == format_.size_bytes(shape) == blocks * (1 + 2 * int(name[3]))
    once = format_.round(values)
    assert once.shape == shape
    np.testing.assert_array_equal(format_.unpack(packed, shape), once)
    assert format_.pack(packed) is not None
    np.testing.assert_array_equal(format_.pack(packed), packed)


def test_padding_does_not_count() -> None:
    values = np.random.default_rng(1).normal(size=(4, 20)).astype(np.float32)
    found = FORMATS["Bfp8_b"].round(values)
    np.testing.assert_array_equal(found[:, :16], FORMATS["Bfp8_b"].round(values[:, :16]))
    np.testing.assert_array_equal(found[:, 16:], FORMATS["Bfp8_b"].round(values[:, 16:]))


def test_other_dtypes_and_strides() -> None:
    values = np.random.default_rng(1).normal(size=(32, 48))
    expected = FORMATS["Bfp4_b"].round(values.T.astype(np.float32))
    np.testing.assert_array_equal(FORMATS["Bfp4_b"].round(values.T), expected)
    assert FORMATS["Bfp4_b"].round(np.array([1e300])).tolist() == [np.inf]


def test_exponents_out_of_range_are_cut() -> None:
    stored = np.zeros(1, FORMATS["Bfp8"].storage)
    stored["exponent"], stored["elements"] = 0xFF, 0x40
    assert FORMATS["Bfp8"].unpack(stored)[0] == 65536


@pytest.mark.parametrize("name", NAMES)
def test_many_chunks(name: str) -> None:
    values = np.random.default_rng(2).normal(size=(300, 512)).astype(np.float32)
    values[7] = 1e-38
    values[200] = 0
    together = FORMATS[name].round(values)
    np.testing.assert_array_equal(together, np.stack([FORMATS[name].round(row) for row in values]))
