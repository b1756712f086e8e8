"""tile.grid_sample, tile.roi_align and tile.deform_conv where they read what is known, and shapes that do not suit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.draws import generator
from tests.ops.tile_cases import check_error, check_op
from ttc.dialects.tile.base import twin

X = generator("tile_sampling.X").standard_normal((1, 2, 4, 5)).astype(np.float32)


def test_a_grid_of_all_centres_is_the_image() -> None:
    rows, columns = np.linspace(-1, 1, 4), np.linspace(-1, 1, 5)
    grid = np.stack(np.broadcast_arrays(columns[None, :], rows[:, None]), axis=-1)[None].astype(np.float32)
    check_op(twin("grid_sample"), [X, grid], {"mode": "linear", "padding": "zeros", "align_corners": True}, X, tolerance=1e-5)


def test_a_region_of_four_elements_is_their_mean() -> None:
    rois = np.array([[0, 0, 2, 2]], np.float32)
    attrs: dict[str, Any] = {"size": (1, 1), "samples": 2, "scale": 1.0, "offset": 0.5, "mode": "avg"}
    expected = X[:, :, :2, :2].mean(axis=(2, 3), keepdims=True)
    check_op(twin("roi_align"), [X, rois, np.zeros(1, np.int64)], attrs, expected, tolerance=1e-6)


CONV: dict[str, Any] = {"strides": (1, 1), "dilations": (1, 1), "pads": (0, 0, 0, 0), "groups": 1, "offset_groups": 1}


def test_offsets_of_one_row_read_the_row_below(rng: np.random.Generator) -> None:
    w = rng.standard_normal((3, 2, 1, 1)).astype(np.float32)
    offset = np.zeros((1, 2, 4, 5), np.float32)
    offset[:, 0] = 1
    below = np.concatenate([X[:, :, 1:], np.zeros((1, 2, 1, 5), np.float32)], axis=2)
    expected = np.einsum("oc,nchw->nohw", w[:, :, 0, 0], below)
    check_op(twin("deform_conv"), [X, w, offset, None], CONV, expected, tolerance=1e-6)


@pytest.mark.parametrize("grid", [(1, 4, 5, 3), (2, 4, 5, 2)])
def test_grids_that_do_not_suit(grid: tuple[int, ...]) -> None:
    check_error(twin("grid_sample"), [X.shape, grid], {"mode": "linear", "padding": "zeros", "align_corners": True}, "E0401")
