"""Matrices that make a convolution of a multiplication."""

from __future__ import annotations

import numpy as np
import pytest

from ttc.runtime.engines.native.kernels.winograd_matrices import TAPS, matrices


@pytest.mark.parametrize(("outputs", "taps"), [(2, 3), (4, 3), (3, 2), (3, 4)])
def test_products_of_transforms_are_the_convolution(outputs: int, taps: int) -> None:
    found = matrices(outputs, taps)
    at, g, bt = (np.array(matrix) for matrix in (found.at, found.g, found.bt))
    size = outputs + taps - 1
    assert (at.shape, g.shape, bt.shape) == ((outputs, size), (size, taps), (size, size))
    rng = np.random.default_rng(1)
    image, filter = rng.standard_normal((size, size)), rng.standard_normal((taps, taps))
    found = at @ ((g @ filter @ g.T) * (bt @ image @ bt.T)) @ at.T
    expected = [[(image[y : y + taps, x : x + taps] * filter).sum() for x in range(outputs)] for y in range(outputs)]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("outputs", [2, 4])
def test_gradients_transform_images_as_convolutions_do(outputs: int) -> None:
    assert matrices(TAPS, outputs).bt == matrices(outputs).bt


def test_small_tiles_only_add_and_subtract() -> None:
    used = matrices(2)
    assert {abs(x) for matrix in (used.at, used.bt) for row in matrix for x in row} == {0.0, 1.0}
    assert {abs(x) for row in used.g for x in row} == {0.0, 0.5, 1.0}
