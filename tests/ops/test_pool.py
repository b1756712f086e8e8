"""nn.max_pool2d and nn.avg_pool2d against torch, and against the definition where torch has no such attribute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.ops.cases import check_batch, check_error, check_op, spec
from ttc.dialects.core.errors import Error
from ttc.dialects.nn.kernels.pool import avg_pool2d, max_pool2d
from ttc.dialects.nn.pool import AvgPool2dOp, MaxPool2dOp

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")
functional = torch.nn.functional

TO_NHWC = (0, 2, 3, 1)


def random(*shape: int, dtype: str = "float32") -> NDArray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def pool_attrs(kernel: tuple[int, int], **changes: Any) -> dict[str, Any]:
    rest = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1), "layout": "nchw", "ceil_mode": False}
    return {"kernel": kernel} | rest | changes


def check_both_layouts(op, x: NDArray, attrs: dict[str, Any], expected: NDArray, tol: float) -> None:
    check_op(op, [x], attrs, expected, tol)
    last = np.ascontiguousarray(x.transpose(TO_NHWC))
    check_op(op, [last], attrs | {"layout": "nhwc"}, expected.transpose(TO_NHWC), tol)


def by_definition(x: NDArray, attrs: dict[str, Any], include_pad: bool | None) -> NDArray:
    """Window by window; include_pad None: the maximum."""
    (top, left, bottom, right), (n, c, h, w) = attrs["pads"], x.shape
    starts = [
        _starts(size, k, s, d, before, after, attrs["ceil_mode"])
        for size, k, s, d, before, after in zip(
            (h, w), attrs["kernel"], attrs["strides"], attrs["dilations"], (top, left), (bottom, right), strict=True
        )
    ]
    y = np.empty((n, c, len(starts[0]), len(starts[1])), x.dtype)
    for i, j in np.ndindex(*y.shape[2:]):
        rows = starts[0][i] + np.arange(attrs["kernel"][0]) * attrs["dilations"][0]
        columns = starts[1][j] + np.arange(attrs["kernel"][1]) * attrs["dilations"][1]
        inside = x[:, :, rows[(rows >= 0) & (rows < h)]][:, :, :, columns[(columns >= 0) & (columns < w)]]
        count = (rows < h + bottom).sum() * (columns < w + right).sum() if include_pad else inside.shape[2] * inside.shape[3]
        y[:, :, i, j] = inside.max(axis=(2, 3)) if include_pad is None else inside.sum(axis=(2, 3)) / max(count, 1)
    return y


def _starts(size: int, kernel: int, stride: int, dilation: int, before: int, after: int, ceil: bool) -> list[int]:
    extent = (kernel - 1) * dilation + 1
    last = size - 1 if ceil else size + after - extent
    starts = list(range(-before, last + 1, stride))
    return [s for i, s in enumerate(starts) if i == 0 or s - stride + extent < size + after or not ceil]


CASES = {
    "plain": ((2, 3, 8, 7), (2, 3), {"strides": (2, 2)}),
    "resnet stem": ((1, 4, 12, 11), (3, 3), {"strides": (2, 2), "pads": (1, 1, 1, 1)}),
    "global": ((2, 3, 5, 4), (5, 4), {}),
    "overlapping": ((1, 2, 6, 6), (3, 2), {}),
    "ceil": ((1, 3, 8, 9), (3, 2), {"strides": (2, 3), "ceil_mode": True}),
    "ceil padded": ((2, 2, 7, 7), (3, 3), {"strides": (3, 2), "pads": (1, 1, 1, 1), "ceil_mode": True}),
    "ceil drops a window in the padding": ((1, 1, 4, 5), (2, 2), {"strides": (3, 4), "pads": (1, 1, 1, 1), "ceil_mode": True}),
    "ceil of a small image": ((1, 2, 1, 1), (2, 2), {"strides": (2, 2), "ceil_mode": True}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_max_pool2d(case: str, dtype: str) -> None:
    shape, kernel, changes = CASES[case]
    attrs = pool_attrs(kernel, **changes)
    x = random(*shape, dtype=dtype)
    expected = functional.max_pool2d(torch.tensor(x), kernel, attrs["strides"], attrs["pads"][:2], 1, attrs["ceil_mode"]).numpy()
    check_both_layouts(MaxPool2dOp, x, attrs, expected, 0.0)


@pytest.mark.parametrize("include_pad", [False, True])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_avg_pool2d(case: str, dtype: str, include_pad: bool) -> None:
    shape, kernel, changes = CASES[case]
    attrs = pool_attrs(kernel, **changes, count_include_pad=include_pad)
    x = random(*shape, dtype=dtype)
    expected = functional.avg_pool2d(torch.tensor(x), kernel, attrs["strides"], attrs["pads"][:2], attrs["ceil_mode"], include_pad).numpy()
    check_both_layouts(AvgPool2dOp, x, attrs, expected, 1e-6)


ONNX_CASES = {
    "asymmetric pads": ((1, 2, 6, 7), (3, 2), {"pads": (2, 0, 1, 1), "strides": (2, 1)}),
    "dilated": ((1, 2, 9, 8), (3, 2), {"dilations": (2, 3), "pads": (1, 1, 2, 0)}),
    "dilated ceil": ((1, 2, 9, 8), (2, 2), {"dilations": (3, 2), "strides": (3, 3), "pads": (0, 1, 1, 0), "ceil_mode": True}),
    "asymmetric ceil": ((2, 1, 7, 6), (3, 4), {"strides": (2, 4), "pads": (0, 1, 2, 2), "ceil_mode": True}),
}


@pytest.mark.parametrize("case", ONNX_CASES)
def test_what_torch_lacks(case: str) -> None:
    shape, kernel, changes = ONNX_CASES[case]
    attrs, x = pool_attrs(kernel, **changes), random(*shape)
    check_both_layouts(MaxPool2dOp, x, attrs, by_definition(x, attrs, None), 0.0)
    for include_pad in (False, True):
        averaged = attrs | {"count_include_pad": include_pad}
        check_both_layouts(AvgPool2dOp, x, averaged, by_definition(x, attrs, include_pad), 1e-6)


def test_max_of_dilated_windows() -> None:
    x = random(2, 3, 11, 10)
    expected = functional.max_pool2d(torch.tensor(x), (3, 2), (2, 1), (1, 1), (2, 3), True).numpy()
    attrs = pool_attrs((3, 2), strides=(2, 1), pads=(1, 1, 1, 1), dilations=(2, 3), ceil_mode=True)
    check_both_layouts(MaxPool2dOp, x, attrs, expected, 0.0)


def test_max_of_negative_integers_ignores_padding() -> None:
    x = np.full((1, 1, 2, 2), -7, np.int8)
    check_op(MaxPool2dOp, [x], pool_attrs((2, 2), pads=(1, 1, 1, 1)), np.full((1, 1, 3, 3), -7, np.int8))


def test_average_of_padding_alone_is_zero() -> None:
    attrs = pool_attrs((1, 1), pads=(1, 0, 0, 0), count_include_pad=False)
    check_op(AvgPool2dOp, [np.ones((1, 1, 1, 1), np.float32)], attrs, np.array([[[[0.0], [1.0]]]], np.float32))


@pytest.mark.parametrize(
    ("code", "x", "kernel", "changes"),
    [
        ("E0401", spec(2, 5, 5), (2, 2), {}),
        ("E0401", spec(1, 2, 5, 5), (6, 2), {}),
        ("E0401", spec(1, 2, 5, 5), (3, 3), {"dilations": (1, 3)}),
        ("E0402", spec(1, 2, 5, 5), (0, 2), {}),
        ("E0402", spec(1, 2, 5, 5), (2,), {}),
        ("E0402", spec(1, 2, 5, 5), (2, 2), {"strides": (0, 1)}),
        ("E0402", spec(1, 2, 5, 5), (2, 2), {"dilations": (1, 0)}),
        ("E0402", spec(1, 2, 5, 5), (2, 2), {"pads": (0, 0, 0)}),
        ("E0402", spec(1, 2, 5, 5), (2, 2), {"layout": "chwn"}),
        ("E0403", spec(1, 2, 5, 5, dtype="bool"), (2, 2), {}),
    ],
)
def test_errors(code: str, x, kernel: tuple[int, ...], changes: dict[str, Any]) -> None:
    attrs = pool_attrs((1, 1), **changes) | {"kernel": kernel}
    check_error(code, MaxPool2dOp, [x], attrs)
    check_error(code, AvgPool2dOp, [x], attrs | {"count_include_pad": True})


def test_average_takes_floats_alone() -> None:
    check_error("E0403", AvgPool2dOp, [spec(1, 2, 5, 5, dtype="int32")], pool_attrs((2, 2), count_include_pad=True))


def test_images_are_samples() -> None:
    check_batch(MaxPool2dOp, [random(4, 2, 5, 5)], [True], pool_attrs((2, 2)), 2)
    check_batch(AvgPool2dOp, [random(4, 2, 5, 5)], [True], pool_attrs((2, 2), count_include_pad=True, layout="nhwc"), 4)


@pytest.mark.parametrize(("kernel", "rest"), [(max_pool2d, {}), (avg_pool2d, {"count_include_pad": True})])
def test_kernels_refuse_windows_that_do_not_fit(kernel, rest: dict[str, Any]) -> None:
    with pytest.raises(Error) as caught:
        kernel(np.zeros((1, 1, 4, 4), np.float32), **pool_attrs((1, 1 << 40)), **rest)
    assert caught.value.code == "E0401"
