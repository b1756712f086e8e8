"""Images read at computed positions, against torch and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.draws import generator
from tests.ops.cases import check_batch, check_error, check_op, run_op, spec
from ttc.dialects.core.errors import Error
from ttc.dialects.nn.sampling import DeformConvOp, GridSampleOp, RoiAlignOp

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

X = generator("sampling.X").standard_normal((2, 3, 5, 6)).astype(np.float32)
GRID = (1.6 * generator("sampling.GRID").standard_normal((2, 4, 3, 2))).astype(np.float32)
TORCH_MODES = {"nearest": "nearest", "linear": "bilinear", "cubic": "bicubic"}


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_grid_sample_like_torch(mode: str, padding: str, align_corners: bool) -> None:
    expected = torch.nn.functional.grid_sample(
        torch.from_numpy(X), torch.from_numpy(GRID), mode=TORCH_MODES[mode], padding_mode=padding, align_corners=align_corners
    ).numpy()
    check_op(GridSampleOp, [X, GRID], {"mode": mode, "padding": padding, "align_corners": align_corners}, expected, 1e-5)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_three_dimensions_like_torch(mode: str, rng: np.random.Generator) -> None:
    x = rng.standard_normal((1, 2, 3, 4, 5)).astype(np.float32)
    grid = rng.standard_normal((1, 2, 3, 2, 3)).astype(np.float32)
    expected = torch.nn.functional.grid_sample(torch.from_numpy(x), torch.from_numpy(grid), mode=TORCH_MODES[mode], align_corners=False)
    check_op(GridSampleOp, [x, grid], {"mode": mode, "padding": "zeros", "align_corners": False}, expected.numpy(), 1e-5)


def test_positions_that_are_no_numbers_stay_harmless() -> None:
    grid = np.array([[[[np.nan, 0.0], [np.inf, -np.inf], [1e30, 0.0]]]], np.float32)
    (y,) = run_op(GridSampleOp, [X[:1], grid], {"mode": "linear", "padding": "zeros", "align_corners": True})
    assert y.shape == (1, 3, 1, 3)
    assert (y[..., 1:] == 0).all()


def test_grid_sample_errors_and_batch() -> None:
    attrs = {"mode": "linear", "padding": "zeros", "align_corners": False}
    check_error("E0401", GridSampleOp, [spec(2, 3, 5, 6), spec(2, 4, 4, 3)], attrs)
    check_error("E0401", GridSampleOp, [spec(2, 3, 5, 6), spec(1, 4, 4, 2)], attrs)
    check_error("E0401", GridSampleOp, [spec(2, 3), spec(2, 4, 4, 2)], attrs)
    check_error("E0402", GridSampleOp, [spec(2, 3, 5, 6), spec(2, 4, 4, 2)], {**attrs, "mode": "area"})
    check_error("E0402", GridSampleOp, [spec(2, 3, 5, 6), spec(2, 4, 4, 2)], {**attrs, "padding": "wrap"})
    check_error("E0403", GridSampleOp, [spec(2, 3, 5, 6), spec(2, 4, 4, 2, dtype="float64")], attrs)
    check_batch(GridSampleOp, [X, GRID], [True, True], attrs, 2)


ROI = {"size": (2, 2), "samples": 2, "scale": 1.0, "offset": 0.0, "mode": "avg"}


def test_roi_align_of_a_plane_is_its_value_at_the_bins_centres() -> None:
    row, column = np.mgrid[0:8, 0:9]
    plane = (2 * row + 3 * column).astype(np.float32)[None, None]
    rois = np.array([[1, 1, 5, 3], [2, 0, 4, 6]], np.float32)
    expected = [[[[2 * y + 3 * x for x in (2, 4)] for y in (1.5, 2.5)]], [[[2 * y + 3 * x for x in (2.5, 3.5)] for y in (1.5, 4.5)]]]
    check_op(RoiAlignOp, [plane, rois, np.array([0, 0])], ROI, np.array(expected, np.float32), 1e-5)
    check_op(RoiAlignOp, [plane, 2 * rois, np.array([0, 0])], {**ROI, "scale": 0.5, "samples": 0}, np.array(expected, np.float32), 1e-5)
    moved = np.array(expected, np.float32) - np.float32(2.5)
    check_op(RoiAlignOp, [plane, rois, np.array([0, 0])], {**ROI, "offset": 0.5}, moved, 1e-5)


def test_roi_align_far_outside_is_zero_and_picks_its_image() -> None:
    x = np.stack([np.full((1, 4, 4), 1, np.float32), np.full((1, 4, 4), 2, np.float32)])
    rois = np.array([[0, 0, 3, 3], [0, 0, 3, 3], [50, 50, 60, 60]], np.float32)
    expected = np.array([2, 1, 0], np.float32).reshape(3, 1, 1, 1) * np.ones((3, 1, 2, 2), np.float32)
    check_op(RoiAlignOp, [x, rois, np.array([1, 0, 0])], ROI, expected, 1e-6)


def test_roi_align_largest_weighted_neighbour() -> None:
    x = np.array([[[[0, 4], [8, 16]]]], np.float32)
    roi = np.array([[0, 0, 1, 1]], np.float32)
    check_op(
        RoiAlignOp, [x, roi, np.array([0])], {**ROI, "size": (1, 1), "samples": 1, "mode": "max"}, np.full((1, 1, 1, 1), 4, np.float32)
    )


def test_roi_align_errors() -> None:
    x, rois, batch = spec(2, 3, 5, 6), spec(4, 4), spec(4, dtype="int64")
    check_error("E0401", RoiAlignOp, [x, spec(4, 5), batch], ROI)
    check_error("E0401", RoiAlignOp, [x, rois, spec(3, dtype="int64")], ROI)
    check_error("E0402", RoiAlignOp, [x, rois, batch], {**ROI, "size": (0, 2)})
    check_error("E0402", RoiAlignOp, [x, rois, batch], {**ROI, "mode": "sum"})
    check_error("E0403", RoiAlignOp, [x, rois, spec(4)], ROI)
    for batch_indices, roi in ((2, [0, 0, 1, 1]), (0, [0, 0, 1e9, 1])):
        with pytest.raises(Error) as caught:
            run_op(RoiAlignOp, [X, np.array([roi], np.float32), np.array([batch_indices])], {**ROI, "samples": 0})
        assert caught.value.code == "E0802"


DEFORM = {"strides": (1, 1), "dilations": (1, 1), "pads": (1, 1, 1, 1), "groups": 1, "offset_groups": 1}


@pytest.mark.parametrize("changes", [{}, {"strides": (2, 1), "dilations": (1, 2)}, {"groups": 2}, {"offset_groups": 2}])
def test_deform_conv_without_moves_is_a_convolution(changes: dict[str, object], rng: np.random.Generator) -> None:
    attrs = {**DEFORM, **changes}
    x = rng.standard_normal((2, 4, 6, 7)).astype(np.float32)
    w = rng.standard_normal((6, 4 // attrs["groups"], 3, 2)).astype(np.float32)
    options = {"stride": attrs["strides"], "padding": 1, "dilation": attrs["dilations"], "groups": attrs["groups"]}
    expected = torch.nn.functional.conv2d(torch.from_numpy(x), torch.from_numpy(w), **options).numpy()
    offset = np.zeros((2, 12 * attrs["offset_groups"], *expected.shape[2:]), np.float32)
    check_op(DeformConvOp, [x, w, offset, None], attrs, expected, 1e-4)
    mask = np.full((2, 6 * attrs["offset_groups"], *expected.shape[2:]), 0.5, np.float32)
    check_op(DeformConvOp, [x, w, offset, mask], attrs, expected / 2, 1e-4)


def test_deform_conv_reads_moved_taps(rng: np.random.Generator) -> None:
    """Against grid_sample, which reads the image at the places that a kernel of one tap is moved to."""
    x = rng.standard_normal((1, 3, 5, 6)).astype(np.float32)
    offset = (2 * rng.standard_normal((1, 2, 5, 6))).astype(np.float32)
    rows, columns = np.arange(5)[:, None] + offset[0, 0], np.arange(6) + offset[0, 1]
    grid = np.stack([(2 * columns + 1) / 6 - 1, (2 * rows + 1) / 5 - 1], axis=-1)[None].astype(np.float32)
    expected = torch.nn.functional.grid_sample(torch.from_numpy(x), torch.from_numpy(grid), align_corners=False).numpy()
    w = np.eye(3, dtype=np.float32).reshape(3, 3, 1, 1)
    check_op(DeformConvOp, [x, w, offset, None], {**DEFORM, "pads": (0, 0, 0, 0)}, expected, 1e-5)


def test_deform_conv_types() -> None:
    x, w, offset = spec(1, 4, 5, 5), spec(2, 4, 3, 3), spec(1, 18, 5, 5)
    assert DeformConvOp.infer(x, w, offset, **DEFORM) == spec(1, 2, 5, 5)
    check_error("E0401", DeformConvOp, [x, w, spec(1, 9, 5, 5), None], DEFORM)
    check_error("E0401", DeformConvOp, [x, w, offset, offset], DEFORM)
    check_error("E0401", DeformConvOp, [x, w, offset, None], {**DEFORM, "groups": 2})
    check_error("E0402", DeformConvOp, [x, w, offset, None], {**DEFORM, "offset_groups": 0})
    check_error("E0402", DeformConvOp, [x, w, offset, None], {**DEFORM, "strides": (0, 1)})
    check_error("E0403", DeformConvOp, [x, spec(2, 4, 3, 3, dtype="float64"), offset, None], DEFORM)


def test_deform_conv_samples_are_apart(rng: np.random.Generator) -> None:
    x = rng.standard_normal((3, 2, 4, 4)).astype(np.float32)
    w = rng.standard_normal((2, 2, 3, 3)).astype(np.float32)
    offset = rng.standard_normal((3, 18, 4, 4)).astype(np.float32)
    check_batch(DeformConvOp, [x, w, offset, None], [True, False, True, False], DEFORM, 3, 1e-5)
