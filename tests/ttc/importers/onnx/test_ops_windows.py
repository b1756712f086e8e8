"""Col2Im, MaxUnpool, places of maxima and caches written in place, against torch and by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.ttc.importers.onnx.cases import check, ints, node_model, normal
from tests.ttc.importers.onnx.test_walk import failure, save

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")


@pytest.mark.parametrize(
    ("count", "attrs", "options"),
    [
        (20, {}, {}),
        (9, {"strides": [2, 2], "pads": [1, 1, 1, 1]}, {"stride": 2, "padding": 1}),
        (12, {"dilations": [2, 1]}, {"dilation": (2, 1)}),
    ],
)
def test_col2im(count: int, attrs: dict, options: dict, tmp_path: Path) -> None:
    image, kernel = (5, 5), (2, 2)
    probe = torch.nn.functional.unfold(torch.zeros(1, 1, *image), kernel, **options)
    x = normal(2, 3 * 4, probe.shape[-1])
    wanted = torch.nn.functional.fold(torch.from_numpy(x), image, kernel, **options).numpy()
    model, feeds = node_model("Col2Im", x, ints(*image), ints(*kernel), constant=(1, 2), **attrs)
    check(model, feeds, tmp_path, wanted=[wanted])


@pytest.mark.parametrize("size", [20, 512])
def test_col2im_of_many_windows(size: int, tmp_path: Path) -> None:
    """Overlapping patches of an image, many more of them than a matrix of places could hold."""
    x = np.random.default_rng(size).standard_normal((1, 64, (size // 4 - 1) ** 2)).astype(np.float32)
    wanted = torch.nn.functional.fold(torch.from_numpy(x), (size, size), (8, 8), stride=4).numpy()
    model, feeds = node_model("Col2Im", x, ints(size, size), ints(8, 8), constant=(1, 2), strides=[4, 4])
    check(model, feeds, tmp_path, wanted=[wanted])


@pytest.mark.parametrize(
    "options", [{"stride": 2}, {"stride": 1, "padding": 1}, {"stride": 2, "dilation": 2}, {"stride": 2, "ceil_mode": True}]
)
def test_places_of_maxima(options: dict, tmp_path: Path) -> None:
    x = normal(2, 3, 6, 7)
    values, places = torch.nn.functional.max_pool2d(torch.from_numpy(x), 3, return_indices=True, **options)
    start = np.arange(6).reshape(2, 3, 1, 1) * 42
    attrs = {
        "kernel_shape": [3, 3],
        "strides": [options["stride"]] * 2,
        "pads": [options.get("padding", 0)] * 4,
        "dilations": [options.get("dilation", 1)] * 2,
        "ceil_mode": int(options.get("ceil_mode", False)),
    }
    model, feeds = node_model("MaxPool", x, outputs=2, **attrs)
    check(model, feeds, tmp_path, wanted=[values.numpy(), places.numpy() + start])


def test_places_that_count_columns_first(tmp_path: Path) -> None:
    x = np.array([[[[1, 2], [9, 3]]]], np.uint8)
    model, feeds = node_model("MaxPool", x, outputs=2, kernel_shape=[2, 2], storage_order=1)
    check(model, feeds, tmp_path, wanted=[np.array([[[[9]]]], np.uint8), ints(1).reshape(1, 1, 1, 1)])


@pytest.mark.parametrize("size", [None, 5])
def test_max_unpool(size: int | None, tmp_path: Path) -> None:
    x = np.array([[[[1, 2], [3, 4]]]], np.float32)
    places = np.array([[[[5, 7], [13, 15]]]], np.int64)
    wanted = np.zeros((1, 1, size or 4, size or 4), np.float32)
    wanted[0, 0, 1::2, 1::2][:2, :2] = x[0, 0]
    operands = [x, places, *([] if size is None else [ints(1, 1, size, size)])]
    model, feeds = node_model("MaxUnpool", *operands, constant=() if size is None else (2,), kernel_shape=[2, 2], strides=[2, 2])
    check(model, feeds, tmp_path, wanted=[wanted])


@pytest.mark.parametrize(("mode", "start"), [("linear", 1), ("circular", 3)])
def test_tensor_scatter(mode: str, start: int, tmp_path: Path) -> None:
    cache, update = normal(2, 4, 3), normal(2, 2, 3)
    wanted = cache.copy()
    for sample, first in enumerate((start, 0)):
        for i in range(2):
            wanted[sample, (first + i) % 4] = update[sample, i]
    model, feeds = node_model("TensorScatter", cache, update, ints(start, 0), opset=24, mode=mode)
    check(model, feeds, tmp_path, wanted=[wanted])


def test_what_does_not_fit(tmp_path: Path) -> None:
    assert failure(save(node_model("Col2Im", normal(1, 4, 3), ints(5, 5), ints(2, 2), constant=(1, 2))[0], tmp_path)).code == "E0401"
    bad = node_model("Col2Im", normal(1, 4, 3), ints(5, 5), ints(2, 2), constant=(1, 2), strides=[0, 1])[0]
    assert failure(save(bad, tmp_path)).code == "E0402"
    assert failure(save(node_model("TensorScatter", normal(2, 4, 3), normal(2, 2, 3), opset=24, axis=0)[0], tmp_path)).code == "E0402"
