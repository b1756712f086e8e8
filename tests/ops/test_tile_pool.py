"""Pooling over channels-last images, against windows written out."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.draws import generator
from tests.ops.tile_cases import check_error, check_op
from ttc.dialects.tile.base import twin

X = generator("tile_pool.X").standard_normal((2, 6, 7, 3)).astype(np.float32)
ATTRS = {"kernel": (3, 2), "strides": (2, 2), "pads": (1, 0, 1, 1), "dilations": (1, 1)}


def windows(x: NDArray, fill: float, rows: int, cols: int) -> NDArray:
    """[n, rows, cols, 3 * 2, c]: the elements of each window of ATTRS."""
    padded = np.full((2, 20, 20, 3), fill, np.float32)
    padded[:, 1:7, :7] = x
    taps = [padded[:, i : i + 2 * rows : 2, j : j + 2 * cols : 2] for i in range(3) for j in range(2)]
    return np.stack(taps, axis=3)


@pytest.mark.parametrize(("ceil_mode", "rows", "cols"), [(False, 3, 4), (True, 4, 4)])
def test_max_pool2d(ceil_mode: bool, rows: int, cols: int) -> None:
    expected = windows(X, -np.inf, rows, cols).max(axis=3)
    check_op(twin("max_pool2d"), [X], {**ATTRS, "ceil_mode": ceil_mode}, expected)


@pytest.mark.parametrize("include", [False, True])
def test_avg_pool2d(include: bool) -> None:
    total = windows(X, 0, 3, 4).sum(axis=3)
    counts = windows(np.ones_like(X), 0, 3, 4).sum(axis=3)
    expected = total / 6 if include else total / counts
    attrs = {**ATTRS, "ceil_mode": False, "count_include_pad": include}
    check_op(twin("avg_pool2d"), [X], attrs, expected.astype(np.float32), 1e-6)


def test_what_does_not_fit() -> None:
    attrs = {**ATTRS, "ceil_mode": False}
    check_error(twin("max_pool2d"), [(2, 6, 7)], attrs, "E0401")
    check_error(twin("max_pool2d"), [(2, 6, 7, 3)], {**attrs, "kernel": (9, 2)}, "E0401")
    check_error(twin("max_pool2d"), [(2, 6, 7, 3)], {**attrs, "pads": (-1, 0, 0, 0)}, "E0402")
