"""Exponentials of the vector engine, against those of numpy in float64."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.runtime.engines.exact.test_core import OP, execute, random
from ttc.passes.netlist.approximate_exp import APPROXIMATE
from ttc.runtime.engines.exact.exponential import LEAST, approximate_exp

COARSE = replace(OP, settings=APPROXIMATE)


def test_the_approximation_is_at_most_six_per_cent_above() -> None:
    x = -np.linspace(0, 41, 100_001, dtype=np.float32)
    ratio = approximate_exp(x, np.empty_like(x)) / np.exp(x.astype(np.float64))
    assert ratio.min() > 1 - 1e-5
    assert ratio.max() == pytest.approx(1.0615, abs=1e-4)


def test_powers_of_two_are_exact_and_what_is_small_is_nothing() -> None:
    x = np.array([0.0, -np.log(2), LEAST - 1, -np.inf], np.float32)
    np.testing.assert_allclose(approximate_exp(x, x), [1.0, 0.5, 0.0, 0.0], rtol=2e-5)


def test_nan_stays() -> None:
    x = np.array([np.nan], np.float32)
    with np.errstate(invalid="ignore"):
        assert np.isnan(approximate_exp(x, np.empty_like(x)))


@pytest.mark.parametrize("op", ["softmax", "attention"])
def test_ops_have_the_exponentials_that_they_ask_for(op: str) -> None:
    x = random(4, 32, 64) * 2
    operands, attrs = ((x,), {"axis": -1}) if op == "softmax" else ((x, x, x), {"scale": 0.01, "zero_masked": False})
    exact, found = (execute(f"tile.{op}", *operands, op=which, **attrs) for which in (OP, COARSE))
    error = np.linalg.norm(found - exact) / np.linalg.norm(exact)
    assert 1e-3 < error < 0.04
