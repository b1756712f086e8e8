"""Matrices that make a convolution of a multiplication."""

from __future__ import annotations

import numpy as np
import pytest

from ttc.runtime.engines.native.kernels.winograd_matrices import TAPS, matrices


@pytest.mark.parametrize("outputs", [2, 4])
def test_products_of_transforms_are_the_convolution(outputs: int) -> None:
    at, g, bt = (np.array(matrix) for matrix in (matrices(outputs).at, matrices(outputs).g, matrices(outputs).bt))
    size = outputs + TAPS - 1
    assert (at.shape, g.shape, bt.shape) == ((outputs, size), (size, TAPS), (size, size))
    rng = np.random.default_rng(1)
    image, taps = rng.standard_normal((size, size)), rng.standard_normal((TAPS, TAPS))
    found = at @ ((g @ taps @ g.T) * (bt @ image @ bt.T)) @ at.T
    expected = [[(image[y : y + TAPS, x : x + TAPS] * taps).sum() for x in range(outputs)] for y in range(outputs)]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_small_tiles_only_add_and_subtract() -> None:
    used = matrices(2)
    assert {abs(x) for matrix in (used.at, used.bt) for row in matrix for x in row} == {0.0, 1.0}
    assert {abs(x) for row in used.g for x in row} == {0.0, 0.5, 1.0}
