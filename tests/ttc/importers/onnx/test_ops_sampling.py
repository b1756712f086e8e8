"""Images read at computed positions, against onnx's reference evaluator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnxruntime import InferenceSession

from tests.ttc.importers.onnx.cases import check, check_node, imported, ints, node_model, normal
from ttc.dialects.core.errors import Error

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

X = normal(2, 3, 4, 5)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_grid_sample(mode: str, padding: str, tmp_path: Path) -> None:
    grid = np.clip(normal(2, 3, 2, 2), -2.5, 2.5)
    for corners in (0, 1):
        options = {"mode": mode, "padding_mode": padding, "align_corners": corners}
        model, feeds = node_model("GridSample", X, grid, opset=20, **options)
        inference = InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]
        )  # onnx's evaluator clamps cubic positions
        check(model, feeds, tmp_path, wanted=inference.run(None, feeds))


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_grid_sample_with_the_first_names_of_modes(mode: str, tmp_path: Path) -> None:
    grid = np.clip(normal(2, 3, 2, 2), -0.9, 0.9)
    expected = torch.nn.functional.grid_sample(torch.from_numpy(X), torch.from_numpy(grid), mode=mode, align_corners=False).numpy()
    model, feeds = node_model("GridSample", X, grid, opset=16, mode=mode)
    check(model, feeds, tmp_path, wanted=[expected])


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (1, 2, 3, 4, 5)])
def test_affine_grid(size: tuple[int, ...], corners: int, tmp_path: Path) -> None:
    rank = len(size) - 2
    theta = normal(size[0], rank, rank + 1)
    expected = torch.nn.functional.affine_grid(torch.from_numpy(theta), list(size), align_corners=bool(corners)).numpy()
    model, feeds = node_model("AffineGrid", theta, ints(*size), constant=(1,), opset=20, align_corners=corners)
    check(model, feeds, tmp_path, wanted=[expected])


def test_affine_grid_that_does_not_fit(tmp_path: Path) -> None:
    model, feeds = node_model("AffineGrid", normal(2, 2, 3), ints(1, 2, 3, 4), constant=(1,), opset=20)
    with pytest.raises(Error) as caught:
        imported(model, feeds, tmp_path)
    assert caught.value.code == "E0401"


ROIS = np.array([[0, 0, 3, 3], [1, 0.5, 2, 3.2], [-2, -1, 6, 2]], np.float32)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("samples", [0, 2])
@pytest.mark.parametrize("coordinates", ["half_pixel", "output_half_pixel"])
def test_roi_align(coordinates: str, samples: int, mode: str, tmp_path: Path) -> None:
    options = {"output_height": 2, "output_width": 3, "spatial_scale": 0.9, "sampling_ratio": samples, "mode": mode}
    check_node(tmp_path, "RoiAlign", X, ROIS, ints(1, 0, 1), coordinate_transformation_mode=coordinates, **options)


def test_roi_align_of_old_does_not_move_regions(tmp_path: Path) -> None:
    options = {"output_height": 2, "output_width": 2, "sampling_ratio": 2}
    new = imported(*node_model("RoiAlign", X, ROIS, ints(1, 0, 1), coordinate_transformation_mode="output_half_pixel", **options), tmp_path)
    model, feeds = node_model("RoiAlign", X, ROIS, ints(1, 0, 1), opset=10, **options)
    check(model, feeds, tmp_path, wanted=new)
