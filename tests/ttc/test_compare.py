"""Comparison figures."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ttc.compare import compare
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


@pytest.mark.parametrize(
    ("error", "low", "within"), [(9e-5, False, True), (1.1e-4, False, False), (1.9e-2, True, True), (2.1e-2, True, False)]
)
def test_bounds(error: float, low: bool, within: bool) -> None:
    assert compare(np.array([1 + error]), np.array([1.0]), low_precision=low).within == within


@pytest.mark.parametrize(("error", "within"), [(9e-4, True), (1.1e-3, False)])
def test_bound_of_precision_high(error: float, within: bool) -> None:
    assert compare(np.array([1 + error]), np.array([1.0]), high=True).within == within


def test_bounds_of_coarse_formats() -> None:
    b = np.arange(1.0, 9.0)
    assert compare(b * 1.09, b, coarse=True).within
    assert not compare(b * 1.11, b, coarse=True).within
    assert not compare(np.array([100.0, 101, 102]), np.array([101.0, 102, 100]), coarse=True).within  # near, but not alike


@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf])
def test_strange_values_count_where_they_stand(strange: float) -> None:
    a = np.array([1.0, strange])
    assert compare(a, a).max_abs == 0
    found = compare(a, np.array([strange, 1.0]))
    assert found.max_abs == math.inf
    assert not found.within
    assert found.figures()["max_abs"] is None


def test_empty_and_constant() -> None:
    assert compare(np.zeros((0, 3)), np.zeros((0, 3))).within
    assert compare(np.zeros(3), np.zeros(3)).pcc == 1
    assert compare(np.zeros(3), np.arange(3.0)).pcc == 0
    assert compare(np.ones(3), np.zeros(3)).relative_l2 == math.inf


def test_shapes_differ() -> None:
    with pytest.raises(Error) as caught:
        compare(np.zeros(2), np.zeros(3))
    assert caught.value.code == "E0801"
