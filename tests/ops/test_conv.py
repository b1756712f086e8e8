"""nn.conv2d and nn.conv_transpose2d against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.ops.cases import check_batch, check_error, check_no_batch, check_op, spec
from ttc.dialects.nn.conv import Conv2dOp, ConvTranspose2dOp
from ttc.dialects.nn.kernels import conv

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")
functional = torch.nn.functional

TO_NHWC = (0, 2, 3, 1)
TO_HWIO = (2, 3, 1, 0)


def random(*shape: int, dtype: str = "float32") -> NDArray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def conv_attrs(**changes: Any) -> dict[str, Any]:
    return {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1), "groups": 1, "layout": "nchw"} | changes


def transpose_attrs(**changes: Any) -> dict[str, Any]:
    return conv_attrs(output_padding=(0, 0)) | changes


def torch_conv(x: NDArray, w: NDArray, bias: NDArray | None, attrs: dict[str, Any]) -> NDArray:
    top, left, bottom, right = attrs["pads"]
    padded = functional.pad(torch.tensor(x), (left, right, top, bottom))
    given = None if bias is None else torch.tensor(bias)
    return functional.conv2d(padded, torch.tensor(w), given, attrs["strides"], 0, attrs["dilations"], attrs["groups"]).numpy()


def torch_transposed(x: NDArray, w: NDArray, bias: NDArray | None, attrs: dict[str, Any]) -> NDArray:
    """torch cuts symmetric pads alone, so the full result is cut here; output padding is of zeros before the bias."""
    top, left, bottom, right = attrs["pads"]
    full = functional.conv_transpose2d(torch.tensor(x), torch.tensor(w), None, attrs["strides"], 0, 0, attrs["groups"], attrs["dilations"])
    rows, columns = attrs["output_padding"]
    full = functional.pad(full, (-left, columns - right, -top, rows - bottom)).numpy()
    return full if bias is None else full + bias[:, None, None]


def check_both_layouts(op, x: NDArray, w: NDArray, bias: NDArray | None, attrs: dict[str, Any], expected: NDArray, tol: float) -> None:
    check_op(op, [x, w, bias], attrs, expected, tol)
    last = [np.ascontiguousarray(x.transpose(TO_NHWC)), np.ascontiguousarray(w.transpose(TO_HWIO)), bias]
    check_op(op, last, attrs | {"layout": "nhwc"}, expected.transpose(TO_NHWC), tol)


CONVS = {
    "pointwise": ((2, 5, 7, 6), (4, 5, 1, 1), {}),
    "pointwise strided": ((2, 5, 7, 6), (4, 5, 1, 1), {"strides": (2, 3)}),
    "pointwise padded": ((1, 5, 4, 3), (4, 5, 1, 1), {"pads": (1, 0, 2, 1)}),
    "3x3": ((1, 3, 9, 8), (5, 3, 3, 3), {"pads": (1, 1, 1, 1)}),
    "asymmetric pads": ((2, 3, 6, 7), (4, 3, 3, 2), {"pads": (0, 2, 1, 3), "strides": (2, 1)}),
    "stem": ((1, 3, 23, 21), (8, 3, 7, 7), {"pads": (3, 3, 3, 3), "strides": (2, 2)}),
    "dilated": ((1, 4, 11, 12), (3, 4, 3, 3), {"dilations": (2, 3), "pads": (2, 0, 1, 3)}),
    "stride skips rows": ((1, 2, 8, 8), (3, 2, 2, 2), {"strides": (3, 3)}),
    "whole image": ((2, 3, 4, 5), (6, 3, 4, 5), {}),
    "one channel": ((1, 1, 6, 6), (2, 1, 3, 3), {}),
    "grouped": ((2, 6, 7, 5), (4, 3, 3, 3), {"groups": 2, "pads": (1, 1, 1, 1)}),
    "grouped pointwise": ((2, 6, 4, 4), (9, 2, 1, 1), {"groups": 3}),
    "depthwise": ((2, 5, 9, 7), (5, 1, 3, 3), {"groups": 5, "pads": (1, 0, 1, 2), "strides": (2, 2)}),
    "depthwise multiplied": ((1, 3, 6, 6), (6, 1, 3, 2), {"groups": 3, "dilations": (2, 1)}),
}


@pytest.mark.parametrize("case", CONVS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_conv2d(case: str, dtype: str) -> None:
    image, kernel, changes = CONVS[case]
    attrs = conv_attrs(**changes)
    x, w, bias = random(*image, dtype=dtype), random(*kernel, dtype=dtype), random(kernel[0], dtype=dtype)
    check_both_layouts(Conv2dOp, x, w, bias, attrs, torch_conv(x, w, bias, attrs), 3e-5 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("block_bytes", [1, 3000, 20000])
@pytest.mark.parametrize("case", ["3x3", "asymmetric pads", "grouped", "depthwise"])
def test_blocks_of_rows_and_images_cover_the_result(case: str, block_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conv, "_COLUMNS_BYTES", block_bytes)
    monkeypatch.setattr(conv, "_TAPS_BYTES", block_bytes)
    image, kernel, changes = CONVS[case]
    attrs = conv_attrs(**changes)
    x, w = random(5, *image[1:]), random(*kernel)
    check_op(Conv2dOp, [x, w, None], attrs, torch_conv(x, w, None, attrs), 3e-5)


def test_activation_follows_bias() -> None:
    x, w, bias = random(1, 3, 5, 5), random(4, 3, 3, 3), random(4)
    expected = torch_conv(x, w, bias, conv_attrs()).clip(0, 6)
    attrs = conv_attrs(activation="clip", activation_args=(0.0, 6.0))
    check_both_layouts(Conv2dOp, x, w, bias, attrs, expected, 3e-5)


TRANSPOSED = {
    "doubling": ((2, 4, 3, 5), (4, 3, 2, 2), {"strides": (2, 2)}),
    "overlapping": ((1, 3, 4, 5), (3, 5, 3, 4), {}),
    "padded": ((1, 3, 4, 5), (3, 2, 3, 3), {"strides": (2, 1), "pads": (1, 0, 2, 1), "output_padding": (1, 0)}),
    "dilated": ((1, 2, 4, 3), (2, 3, 3, 2), {"dilations": (2, 3), "strides": (1, 2)}),
    "grouped": ((2, 6, 3, 3), (6, 2, 3, 3), {"groups": 3, "strides": (2, 2), "pads": (1, 1, 1, 1), "output_padding": (1, 1)}),
    "depthwise": ((1, 4, 3, 3), (4, 1, 2, 2), {"groups": 4, "strides": (2, 2)}),
    "strides beyond the kernel": ((1, 2, 3, 3), (2, 2, 1, 2), {"strides": (3, 4)}),
}


@pytest.mark.parametrize("case", TRANSPOSED)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_conv_transpose2d(case: str, dtype: str) -> None:
    image, kernel, changes = TRANSPOSED[case]
    attrs = transpose_attrs(**changes)
    bias = random(kernel[1] * attrs["groups"], dtype=dtype)
    x, w = random(*image, dtype=dtype), random(*kernel, dtype=dtype)
    tol = 3e-5 if dtype == "float32" else 1e-12
    check_both_layouts(ConvTranspose2dOp, x, w, bias, attrs, torch_transposed(x, w, bias, attrs), tol)


IMAGE, FILTER = spec(1, 4, 5, 5), spec(6, 4, 3, 3)


@pytest.mark.parametrize(
    ("code", "operands", "changes"),
    [
        ("E0401", [spec(4, 5, 5), FILTER, None], {}),
        ("E0401", [IMAGE, spec(6, 4, 3), None], {}),
        ("E0401", [IMAGE, spec(6, 3, 3, 3), None], {}),
        ("E0401", [IMAGE, spec(6, 2, 3, 3), spec(4)], {"groups": 2}),
        ("E0401", [IMAGE, spec(5, 2, 3, 3), None], {"groups": 2}),
        ("E0401", [IMAGE, spec(6, 4, 6, 3), None], {}),
        ("E0401", [IMAGE, FILTER, None], {"dilations": (1, 3)}),
        ("E0401", [IMAGE, spec(6, 4, 0, 3), None], {}),
        ("E0402", [IMAGE, FILTER, None], {"strides": (0, 1)}),
        ("E0402", [IMAGE, FILTER, None], {"strides": (1,)}),
        ("E0402", [IMAGE, FILTER, None], {"dilations": (1, 0)}),
        ("E0402", [IMAGE, FILTER, None], {"pads": (0, 0, -1, 0)}),
        ("E0402", [IMAGE, FILTER, None], {"pads": (0, 0)}),
        ("E0402", [IMAGE, FILTER, None], {"groups": 0}),
        ("E0402", [IMAGE, FILTER, None], {"layout": "hwcn"}),
        ("E0402", [IMAGE, FILTER, None], {"activation": "conv2d"}),
        ("E0403", [spec(1, 4, 5, 5, dtype="bool"), spec(6, 4, 3, 3, dtype="bool"), None], {}),
        ("E0403", [spec(1, 4, 5, 5, dtype="int32"), spec(6, 4, 3, 3, dtype="int32"), None], {"activation": "relu"}),
        ("E0403", [IMAGE, spec(6, 4, 3, 3, dtype="float64"), None], {}),
    ],
)
def test_errors_of_conv2d(code: str, operands: list, changes: dict[str, Any]) -> None:
    check_error(code, Conv2dOp, operands, conv_attrs(**changes))


@pytest.mark.parametrize(
    ("code", "operands", "changes"),
    [
        ("E0401", [IMAGE, spec(3, 4, 3, 3), None], {}),
        ("E0401", [IMAGE, spec(4, 4, 3, 3), spec(3)], {}),
        ("E0401", [IMAGE, spec(4, 4, 3, 3), None], {"groups": 3}),
        ("E0401", [IMAGE, spec(4, 4, 3, 3), None], {"pads": (4, 0, 3, 0)}),
        ("E0401", [IMAGE, spec(4, 4, 3, 3), None], {"pads": (0, 9, 0, 0)}),
        ("E0402", [IMAGE, spec(4, 4, 3, 3), None], {"output_padding": (0, -1)}),
        ("E0402", [IMAGE, spec(4, 4, 3, 3), None], {"groups": 0}),
        ("E0402", [IMAGE, spec(4, 4, 3, 3), None], {"strides": (1, 0)}),
        ("E0403", [IMAGE, spec(4, 4, 3, 3, dtype="float64"), None], {}),
    ],
)
def test_errors_of_conv_transpose2d(code: str, operands: list, changes: dict[str, Any]) -> None:
    check_error(code, ConvTranspose2dOp, operands, transpose_attrs(**changes))


def test_dynamic_batch_stays_dynamic() -> None:
    assert Conv2dOp.infer(spec(-1, 4, 5, -1), FILTER, **conv_attrs()) == spec(-1, 6, 3, -1)
    assert ConvTranspose2dOp.infer(spec(-1, 6, 5, -1), FILTER, **transpose_attrs()) == spec(-1, 4, 7, -1)


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
def test_images_are_samples(layout: str) -> None:
    x, w = random(4, 3, 3, 3), random(3, 3, 3, 3)
    check_batch(Conv2dOp, [x, w, random(3)], [True, False, False], conv_attrs(layout=layout), 2, 1e-5)
    check_batch(ConvTranspose2dOp, [x, w, None], [True, False, False], transpose_attrs(layout=layout), 4, 1e-5)


def test_filters_of_samples_mix() -> None:
    check_no_batch(Conv2dOp, [IMAGE, FILTER, None], [True, True, False], conv_attrs(), 1)
    check_no_batch(ConvTranspose2dOp, [IMAGE, spec(4, 4, 3, 3), spec(4)], [True, False, True], transpose_attrs(), 1)


@pytest.mark.parametrize(("limit", "dtype"), [(128, np.int32), (2**40, np.int64)])
def test_conv2d_of_integers(limit: int, dtype: type) -> None:
    generator = np.random.default_rng(3)
    x = generator.integers(-limit, limit, (1, 4, 6, 5)).astype(dtype)
    w = generator.integers(-128, 128, (6, 2, 3, 2)).astype(dtype)
    attrs = {"strides": (1, 2), "pads": (1, 0, 1, 1), "dilations": (1, 1), "groups": 2, "layout": "nchw"}
    wanted = np.zeros((1, 6, 6, 3), dtype)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 1)))
    for o, i, j in np.ndindex(6, 6, 3):
        window = padded[0, (o // 3) * 2 : (o // 3) * 2 + 2, i : i + 3, j * 2 : j * 2 + 2]
        wanted[0, o, i, j] = (window * w[o]).sum()
    check_op(Conv2dOp, [x, w, None], attrs, wanted, 0)
