"""Registers, fidelity phases and rounding, against integers and bits computed one by one."""

from __future__ import annotations

from fractions import Fraction
from math import frexp

import numpy as np
import pytest
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.numerics import FIDELITIES
from ttc.runtime.engines.exact.registers import multiply, narrow, truncate, unpack

PHASES = dict(zip(FIDELITIES, (1, 2, 3, 4), strict=True))


def random(*shape: int, seed: int = 0) -> NDArray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def digits(value: float, first: int, last: int) -> Fraction:
    """The part of a number that its mantissa digits `first` (0 is the leading 1) to `last - 1` stand for."""
    fraction, exponent = frexp(abs(value))
    mantissa = int(fraction * 2**24)
    kept = (mantissa >> (24 - last) << (24 - last)) - (mantissa >> (24 - first) << (24 - first))
    return Fraction(kept, 2**24) * Fraction(2) ** exponent * (-1 if value < 0 else 1)


def phase(a: float, b: float, number: int) -> Fraction:
    """One phase of a product: SrcA in digits 0-4 and 5-9, SrcB in digits 0-6 and 7-10."""
    part_a = digits(a, 5, 10) if number & 1 else digits(a, 0, 5)
    part_b = digits(b, 7, 11) if number & 2 else digits(b, 0, 7)
    return part_a * part_b


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_phases_digit_by_digit(fidelity: str) -> None:
    a, b = unpack(random(40, seed=1), "Float32"), unpack(random(40, seed=2), "Float32")
    expected = [sum(phase(float(x), float(y), p) for p in range(PHASES[fidelity])) for x, y in zip(a, b, strict=True)]
    found = multiply(np.multiply, a, b, fidelity)
    assert found.dtype == np.float32
    assert [float(np.float32(float(e))) for e in expected] == pytest.approx(found.tolist(), rel=2**-23)


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_phases_of_a_matrix_product(fidelity: str) -> None:
    a, b = unpack(random(6, 5, seed=3), "Float32"), unpack(random(5, 4, seed=4), "Float32")
    expected = [
        [float(sum(phase(float(a[i, k]), float(b[k, j]), p) for k in range(5) for p in range(PHASES[fidelity]))) for j in range(4)]
        for i in range(6)
    ]
    assert np.allclose(multiply(np.matmul, a, b, fidelity), expected, rtol=0, atol=1e-6)


def test_known_parts() -> None:
    value = np.array([1 + 2**-4 + 2**-5 + 2**-9 + 2**-10], np.float32)
    one = np.ones(1, np.float32)
    low, high = multiply(np.multiply, value, one, "LoFi"), multiply(np.multiply, value, one, "HiFi4")
    assert (low[0], high[0]) == (1 + 2**-4, 1 + 2**-4 + 2**-5 + 2**-9)  # no phase reads the last bit of SrcA
    other = multiply(np.multiply, one, value, "HiFi2"), multiply(np.multiply, one, value, "HiFi3")
    assert (other[0][0], other[1][0]) == (1 + 2**-4 + 2**-5, float(value[0]))


def test_bfloat16_goes_through_four_phases_unchanged() -> None:
    a, b = truncate(random(100, seed=5), 7), truncate(random(100, seed=6), 7)
    assert np.array_equal(multiply(np.multiply, a, b, "HiFi4"), a * b)
    assert not np.array_equal(multiply(np.multiply, a, b, "HiFi3"), a * b)


def test_infinities_have_no_low_parts() -> None:
    a, b = np.array([np.inf, 1.5], np.float32), np.array([2.0, -np.inf], np.float32)
    for fidelity in FIDELITIES:
        assert multiply(np.multiply, a, b, fidelity).tolist() == [np.inf, -np.inf]


def test_integers_have_no_phases() -> None:
    a = np.array([1001, -7], np.int32)
    assert multiply(np.multiply, a, a, "LoFi").tolist() == [1001 * 1001, 49]
    assert unpack(a, "Float32") is a


def test_an_unknown_fidelity_is_an_error() -> None:
    with pytest.raises(Error) as failure:
        multiply(np.multiply, random(1), random(1), "HiFi5")
    assert failure.value.code == "E0607"


# ---- unpacking ---------------------------------------------------------------------------------------------------------------------


def test_float32_is_truncated_to_tf32() -> None:
    values = random(1000, seed=7)
    assert np.array_equal(unpack(values, "Float32").view(np.uint32), values.view(np.uint32) & 0xFFFFE000)
    half = np.array([1 + 2**-10 + 2**-11, -(1 + 2**-11)], np.float32)
    assert unpack(half, "Float32").tolist() == [1 + 2**-10, -1]


def test_unpacking_for_a_destination_of_16_bits() -> None:
    values = np.array([1 + 2**-7 + 2**-8, 3e38, 2.0**-20, -70000.0, 1 + 2**-10 + 2**-11, 1e9], np.float32)
    assert np.array_equal(unpack(values, "Float16_b").view(np.uint32), values.view(np.uint32) & 0xFFFF0000)
    assert unpack(values, "Float16").tolist()[1:] == [131008, 0, -69952, 1 + 2**-10, 131008]


def test_denormals_are_zero_and_infinities_stay() -> None:
    values = np.array([1e-40, -1e-40, np.inf, -np.inf, 2.0**-126], np.float32)
    assert unpack(values, "Float32").tolist() == [0, 0, np.inf, -np.inf, 2.0**-126]


def test_operands_are_not_changed() -> None:
    values = random(3, 4, seed=8)[:, ::2]
    before = values.copy()
    unpack(values, "Float32")
    narrow(values, "Float16_b", np.random.default_rng(0))
    assert np.array_equal(values, before)


# ---- rounding ----------------------------------------------------------------------------------------------------------------------


def test_results_are_rounded_to_nearest_with_ties_away() -> None:
    values = np.array([1 + 2**-8, -(1 + 2**-8), 1 + 2**-9, 1 + 3 * 2**-8, np.inf, np.nan], np.float32)
    found = narrow(values, "Float16_b", None)
    assert found[:5].tolist() == [1 + 2**-7, -(1 + 2**-7), 1, 1 + 2**-6, np.inf]
    assert np.isnan(found[5])
    assert narrow(np.array([1 + 2**-11], np.float32), "Float16", None).tolist() == [1 + 2**-10]


def test_a_nan_of_all_ones_stays_a_nan() -> None:
    value = np.array([0x7FFFFFFF], np.uint32).view(np.float32)
    assert np.isnan(narrow(value, "Float16_b", None)[0])


def test_stochastic_rounding_is_unbiased_and_repeatable() -> None:
    value = np.float32(1 + 2**-7 * 0.3)
    values = np.full(200_000, value)
    found = narrow(values, "Float16_b", np.random.default_rng(5))
    assert set(found.tolist()) == {1.0, 1 + 2**-7}
    assert found.astype(np.float64).mean() == pytest.approx(float(value), abs=4 * 2**-7 * 0.46 / 200_000**0.5)
    assert np.array_equal(found, narrow(values, "Float16_b", np.random.default_rng(5)))
    assert not np.array_equal(found, narrow(values, "Float16_b", np.random.default_rng(6)))


def test_stochastic_rounding_leaves_what_fits() -> None:
    values = truncate(random(1000, seed=9), 7)
    assert np.array_equal(narrow(values, "Float16_b", np.random.default_rng(0)), values)


def test_block_formats_round_half_up_or_stochastically() -> None:
    block = np.zeros(16, np.float32)
    block[:4] = 1, 3 * 2**-7, 2**-8, -(2**-6)
    assert narrow(block, "Bfp8_b", None)[:4].tolist() == [1, 2**-5, 0, -(2**-6)]
    found = np.stack([narrow(block, "Bfp8_b", noise) for noise in [np.random.default_rng(2)] for _ in range(4000)])
    assert (found[:, [0, 3]] == block[[0, 3]]).all()
    assert set(found[:, 2].tolist()) == {0, 2**-6}
    assert found[:, 1:3].astype(np.float64).mean(0) == pytest.approx(block[1:3].tolist(), abs=4 * 2**-6 * 0.5 / 4000**0.5)


def test_stochastic_blocks_of_odd_widths() -> None:
    values = random(3, 5, 21, seed=3)
    once = narrow(values, "Bfp4_b", np.random.default_rng(1))
    assert once.shape == values.shape
    assert np.array_equal(narrow(once, "Bfp4_b", np.random.default_rng(2)), once)
    assert np.array_equal(narrow(once, "Bfp4_b", None), once)
    assert narrow(np.zeros((0, 4), np.float32), "Bfp8_b", np.random.default_rng(1)).shape == (0, 4)
