"""Polynomials against float64: all exponents of float32, zeros, infinities, NaN, and where functions change their form."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.runtime.engines.native.elementwise import Computed
from ttc.runtime.engines.native.graph.region import Region, RegionStep, unary

LEVELS = ("amx", "avx2", "generic")
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 1e-45, -1e-45, 88.7, 88.73, 89.3, -87.4, -103, -104, 0.5, -0.5, 3.92, 3.93, 5.5, -5.5]
SPECIAL += [-100, 1e9, 16777216, 2.0**-126, 2.0**127, -(2.0**127), 1.5707964, 3.1415927, 0.99999994, 1.0000001, 0.70710677, 1.4142135]


def numbers() -> NDArray:
    """Of every exponent and sign, more of usual size, and special ones."""
    rng = np.random.default_rng(3)
    patterns = (np.arange(1 << 16, dtype=np.uint64) << 16).astype(np.uint32) + rng.integers(0, 1 << 16, 1 << 16, dtype=np.uint32)
    usual = np.concatenate([rng.uniform(-20, 20, 1 << 15), rng.uniform(-1, 1, 1 << 15), SPECIAL]).astype(np.float32)
    return np.concatenate([patterns.view(np.float32), usual])


def erf(x: NDArray) -> NDArray:
    return np.array([math.erf(v) for v in x])


def errors(found: NDArray, expected: NDArray) -> float:
    """The largest error in ulp; asserts that NaN, infinities and signs are where they should be."""
    with np.errstate(over="ignore"):
        narrow = expected.astype(np.float32)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(narrow))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(narrow))
    finite = np.isfinite(narrow)
    np.testing.assert_array_equal(np.signbit(found[finite]), np.signbit(narrow[finite]))
    return float(
        np.max(np.abs(found[finite].astype(np.float64) - expected[finite]) / np.spacing(np.abs(narrow[finite])).astype(np.float64))
    )


FUNCTIONS: dict[str, tuple[Callable[[NDArray], NDArray], float]] = {
    "exp": (np.exp, 1.2),
    "log": (np.log, 1.0),
    "tanh": (np.tanh, 3.0),
    "erf": (erf, 4.1),
    "softplus": (lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))), 2.0),
    "sin": (np.sin, 2.0),
    "cos": (np.cos, 2.0),
    "asin": (np.arcsin, 3.0),
    "acos": (np.arccos, 3.0),
    "atan": (np.arctan, 3.0),
    "sinh": (np.sinh, 3.0),
    "cosh": (np.cosh, 3.0),
    "asinh": (np.arcsinh, 3.0),
    "acosh": (np.arccosh, 3.0),
    "atanh": (np.arctanh, 3.0),
}


@pytest.mark.parametrize("level", LEVELS)
def test_functions_are_within_their_bounds(level: str) -> None:
    x = numbers()
    for name, (exact, bound) in FUNCTIONS.items():
        with np.errstate(all="ignore"):
            expected = exact(x.astype(np.float64))
        assert errors(Computed(unary(name, "f32"), level)(x), expected) <= bound, name


@pytest.mark.parametrize("level", LEVELS)
def test_functions_that_end_in_a_product_are_near_in_units_of_their_operand(level: str) -> None:
    x = numbers()
    x = x[np.isfinite(x)]
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        expected = {
            "gelu": wide * 0.5 * (1 + erf(wide / np.sqrt(2))),
            "gelu_tanh": wide / (1 + np.exp(-2 * np.sqrt(2 / np.pi) * (wide + 0.044715 * wide**3))),
            "silu": wide / (1 + np.exp(-wide)),
        }
    for name, exact in expected.items():
        found = Computed(unary(name, "f32"), level)(x)
        assert np.max(np.abs(found - exact) / np.maximum(np.abs(wide), 1e-37)) < 2e-7, name
        assert np.isnan(Computed(unary(name, "f32"), level)(np.array([np.nan, -np.inf], np.float32))).all()
    far = np.array([6, 1e30, -6, -1e30, np.inf], np.float32)
    np.testing.assert_array_equal(Computed(unary("gelu", "f32"), level)(far), np.where(far > 0, far, 0))


@pytest.mark.parametrize("level", LEVELS)
def test_sigmoid_underflows_as_its_formula_does(level: str) -> None:
    x = np.array([-np.inf, -104, -88.6, -20, -1, -0.0, 0, 1, 20, 104, np.inf, np.nan], np.float32)
    with np.errstate(over="ignore"):
        expected = 1 / (1 + np.exp(-x))
    np.testing.assert_allclose(Computed(unary("sigmoid", "f32"), level)(x), expected, rtol=3e-7)


def pairs() -> tuple[NDArray, NDArray]:
    """All pairs of special numbers, and random ones of all sizes."""
    rng = np.random.default_rng(4)
    some = np.array([*SPECIAL, 2, -2, 3, -3, 7, 100, 33554433, 1e38, -1e38, 1e-30], np.float32)
    a, b = (side.ravel() for side in np.meshgrid(some, some))
    patterns = rng.integers(0, 1 << 32, (2, 1 << 14), dtype=np.uint32).view(np.float32)
    sides = [(a, rng.uniform(0, 10, 1 << 14), patterns[0]), (b, rng.uniform(-10, 10, 1 << 14), patterns[1])]
    first, second = (np.concatenate([side[0], side[1].astype(np.float32), side[2]]) for side in sides)
    return first, second


@pytest.mark.parametrize("level", LEVELS)
def test_powers_and_remainders_of_all_sizes(level: str) -> None:
    a, b = pairs()
    with np.errstate(all="ignore"):
        powers, remainders, moduli = np.power(a.astype(np.float64), b), np.fmod(a, b), np.mod(a, b)
    assert errors(Computed(Region(("f32", "f32"), (RegionStep("pow", (0, 1), "f32"),), 2), level)(a, b), powers) <= 1.0
    for fmod, expected in ((True, remainders), (False, moduli)):
        region = Region(("f32", "f32"), (RegionStep("mod", (0, 1), "f32", (("fmod", fmod),)),), 2)
        found = Computed(region, level)(a, b)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(expected[found == 0]))
