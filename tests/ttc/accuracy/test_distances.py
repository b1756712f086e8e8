"""Comparison figures."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ttc.accuracy.distances import Exactness, compare, lowest_pcc
from ttc.dialects.core.errors import Error


def test_figures() -> None:
    found = compare(np.array([1.0, 2.0, 3.5], np.float32), np.array([1.0, 2.0, 4.0], np.float32))
    assert found.max_abs == 0.5
    assert found.relative_l2 == pytest.approx(0.5 / math.sqrt(21))
    assert found.pcc == pytest.approx(np.corrcoef([1, 2, 3.5], [1, 2, 4])[0, 1])
    assert (found.scale, found.bound, found.within) == (4.0, 4e-4, False)


def test_correlation_hides_scale_and_the_others_do_not() -> None:
    b = np.arange(10.0)
    found = compare(2 * b, b)
    assert found.pcc == pytest.approx(1.0)
    assert found.relative_l2 == pytest.approx(1.0)
    assert not found.within


@pytest.mark.parametrize(("exactness", "bound"), [(Exactness.FLOAT32, 1e-4), (Exactness.HIGH, 1e-3), (Exactness.BITS16, 2e-2)])
def test_bounds(exactness: Exactness, bound: float) -> None:
    near, far = (compare(np.array([1 + error * bound]), np.array([1.0]), exactness) for error in (0.9, 1.1))
    assert (near.within, far.within) == (True, False)
    assert far.of_bound == pytest.approx(1.1)


def test_bounds_of_coarse_formats() -> None:
    b = np.arange(1.0, 9.0)
    assert compare(b * 1.09, b, Exactness.BITS8).within
    assert not compare(b * 1.11, b, Exactness.BITS8).within
    assert not compare(np.array([100.0, 101, 102]), np.array([101.0, 102, 100]), Exactness.BITS8).within  # near, but not alike


def test_what_formats_and_precisions_allow() -> None:
    of_formats = {name: Exactness.of_format(name) for name in ("Float32", "Int8", "Tf32", "Half", "Bfp4", "Lf8")}
    assert list(of_formats.values()) == [Exactness.FLOAT32] * 2 + [Exactness.BITS16] * 2 + [Exactness.BITS8] * 2
    of_precisions = [Exactness.of_precision(name) for name in ("float32", "high", "bfloat16", None)]
    assert of_precisions == [Exactness.FLOAT32, Exactness.HIGH, Exactness.BITS16, Exactness.FLOAT32]


@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf])
def test_strange_values_count_where_they_stand(strange: float) -> None:
    a = np.array([1.0, strange])
    assert compare(a, a).max_abs == 0
    found = compare(a, np.array([strange, 1.0]))
    assert found.max_abs == math.inf
    assert not found.within
    assert found.figures()["max_abs"] is None
    assert found.figures()["exactness"] == "float32"


def test_empty_and_constant() -> None:
    assert compare(np.zeros((0, 3)), np.zeros((0, 3))).within
    assert compare(np.ones(3), np.zeros(3)).relative_l2 == math.inf


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([0.5], [0.5]),
        ([0.5000001], [0.5]),
        ([3.0] * 4, [3.0] * 4),
        ([3.0] * 4, [1.0, 2, 3, 4]),
        ([1 + 1e-9, 1, 1 - 1e-9], [1.0, 1, 1]),
        ([], []),
    ],
)
def test_what_is_constant_has_no_correlation(a: list[float], b: list[float]) -> None:
    found = compare(np.array(a), np.array(b), Exactness.BITS8)
    assert math.isnan(found.pcc)
    assert found.figures()["pcc"] is None
    assert ", PCC -: " in str(found)
    assert found.within == (found.relative_l2 <= 0.1)


def test_the_lowest_correlation_is_of_those_that_have_one() -> None:
    alike, less = compare(np.arange(3.0), np.arange(3.0)), compare(np.array([0.0, 1, 3]), np.arange(3.0))
    none = compare(np.ones(1), np.ones(1))
    assert lowest_pcc([none, alike, less]) == less.pcc < alike.pcc == 1
    assert math.isnan(lowest_pcc([none]))
    assert math.isnan(lowest_pcc([]))


def test_shapes_differ() -> None:
    with pytest.raises(Error) as caught:
        compare(np.zeros(2), np.zeros(3))
    assert caught.value.code == "E0801"
