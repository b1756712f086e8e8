"""Sums are compared relative to the magnitudes of their terms."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sums import close


def test_a_sum_that_cancels_is_close_within_a_share_of_its_terms() -> None:
    terms = np.array([[1e6, -1e6, 1e-3]])
    expected, magnitudes = terms.sum(1), np.abs(terms).sum(1)
    close(expected + 0.1, expected, magnitudes, 1e-7)  # a hundred times the sum itself
    with pytest.raises(AssertionError, match="of the sum of magnitudes, 1e-08 allowed"):
        close(expected + 0.1, expected, magnitudes, 1e-8)


@pytest.mark.parametrize(("found", "expected"), [(np.nan, 1), (1, np.nan), (np.inf, -np.inf), (np.inf, 1), (1, np.inf)])
def test_what_is_not_finite_is_the_same(found: float, expected: float) -> None:
    with pytest.raises(AssertionError):
        close(np.array([found]), np.array([expected]), 1.0, 1.0)


def test_equal_infinities_nan_and_nothing_are_close() -> None:
    strange = np.array([np.inf, -np.inf, np.nan, 0, 1e-39], np.float32)
    close(strange, strange, np.abs(strange), 0)
    close(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(3), 0)


def test_shapes_are_the_same() -> None:
    with pytest.raises(AssertionError):
        close(np.zeros(3), np.zeros((1, 3)), 1.0, 1.0)
