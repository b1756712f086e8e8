"""Convolutions, fully connected layers and pools against TensorFlow's interpreter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.ttc.importers.tflite.cases import (
    Given,
    Result,
    check_op,
    const,
    imported,
    ints,
    normal,
    op_model,
    quantized,
    weights,
    with_options,
)
from ttc.dialects.core.errors import Error

IMAGE = normal(2, 7, 6, 4)
CODES = Result("INT8", (0.2,), (4,))
STRIDES = [{}, {"stride_h": 2, "stride_w": 3}, {"padding": "VALID", "stride_h": 2}, {"dilation_h_factor": 2, "dilation_w_factor": 2}]


@pytest.mark.parametrize("options", STRIDES)
def test_conv_2d(options: dict[str, Any], tmp_path: Path) -> None:
    check_op(tmp_path, "CONV_2D", IMAGE, const(normal(5, 3, 2, 4)), const(normal(5)), atol=1e-4, **with_options(**options))


def test_conv_2d_in_groups(tmp_path: Path) -> None:
    check_op(tmp_path, "CONV_2D", IMAGE, const(normal(6, 3, 3, 2)), const(normal(6)), atol=1e-4, **with_options())


def test_conv_2d_with_activation(tmp_path: Path) -> None:
    options = with_options(fused_activation_function="RELU6")
    check_op(tmp_path, "CONV_2D", IMAGE, const(normal(5, 3, 3, 4)), const(normal(5)), atol=1e-4, **options)


@pytest.mark.parametrize("options", STRIDES)
@pytest.mark.parametrize("multiplier", [1, 3])
def test_depthwise_conv_2d(multiplier: int, options: dict[str, Any], tmp_path: Path) -> None:
    if options.get("stride_w", 1) != options.get("stride_h", 1):
        options = {**options, "stride_w": options["stride_h"]}
    w = const(normal(1, 3, 3, 4 * multiplier))
    options = with_options(depth_multiplier=multiplier, **options)
    check_op(tmp_path, "DEPTHWISE_CONV_2D", IMAGE, w, const(normal(4 * multiplier)), atol=1e-4, **options)


@pytest.mark.parametrize(("padding", "sizes"), [("SAME", (14, 12)), ("SAME", (13, 11)), ("VALID", (15, 13)), ("VALID", (16, 14))])
def test_transpose_conv(padding: str, sizes: tuple[int, int], tmp_path: Path) -> None:
    shape, w = const(ints(2, *sizes, 5)), const(normal(5, 3, 3, 4))
    options = with_options(padding=padding, stride_h=2, stride_w=2)
    check_op(tmp_path, "TRANSPOSE_CONV", shape, w, IMAGE, const(normal(5)), atol=1e-4, **options)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(("kernel", "stride"), [((2, 2), (2, 2)), ((3, 4), (2, 3)), ((1, 5), (3, 2)), ((3, 3), (1, 1))])
def test_transpose_conv_with_bias_of_mediapipe(kernel: tuple[int, int], stride: tuple[int, int], padding: str, tmp_path: Path) -> None:
    w, bias = normal(5, *kernel, 4), normal(5)
    options = {"padding": padding, "stride_h": stride[0], "stride_w": stride[1]}
    data, feeds = op_model("CUSTOM:Convolution2DTransposeBias", [IMAGE, const(w), const(bias)], (Result(),), options)
    (found,) = imported(data, feeds, tmp_path)
    last = np.array(IMAGE.shape[1:3]) - 1
    totals = [max(k - n % s - 1, 0) if padding == "SAME" else 0 for k, n, s in zip(kernel, last, stride, strict=True)]
    whole = np.zeros((2, *(last * stride + kernel), 5), np.float32) + bias
    for y, x in np.ndindex(*IMAGE.shape[1:3]):
        rows, columns = (slice(at * s, at * s + k) for at, s, k in zip((y, x), stride, kernel, strict=True))
        whole[:, rows, columns] += np.einsum("ni,ohwi->nhwo", IMAGE[:, y, x], w)
    low = [total // 2 for total in totals]
    high = [size - total + before for size, total, before in zip(whole.shape[1:3], totals, low, strict=True)]
    np.testing.assert_allclose(found, whole[:, low[0] : high[0], low[1] : high[1]], rtol=1e-5, atol=1e-4)


def test_a_custom_op_without_its_options(tmp_path: Path) -> None:
    data, feeds = op_model("CUSTOM:Convolution2DTransposeBias", [IMAGE, const(normal(5, 2, 2, 4)), const(normal(5))], (Result(),), {})
    with pytest.raises(Error, match="lacks its options") as caught:
        imported(data, feeds, tmp_path)
    assert caught.value.code == "E0203"


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_conv_3d(padding: str, tmp_path: Path) -> None:
    options = with_options(padding=padding, stride_d=2, stride_h=1, stride_w=2)
    check_op(tmp_path, "CONV_3D", normal(1, 5, 6, 4, 2), const(normal(2, 3, 2, 2, 3)), const(normal(3)), atol=1e-4, **options)


def test_conv_3d_transpose(tmp_path: Path) -> None:
    options = with_options(stride_d=2, stride_h=1, stride_w=2)
    shape, w = const(ints(1, 6, 4, 6, 3)), const(normal(2, 3, 2, 3, 2))
    check_op(tmp_path, "CONV_3D_TRANSPOSE", shape, w, normal(1, 3, 4, 3, 2), const(normal(3)), atol=1e-4, **options)


@pytest.mark.parametrize(("shape", "keep"), [((3, 8), False), ((2, 3, 8), True), ((2, 3, 4), False)])
def test_fully_connected(shape: tuple[int, ...], keep: bool, tmp_path: Path) -> None:
    w, bias = const(normal(5, 8)), const(normal(5))
    check_op(tmp_path, "FULLY_CONNECTED", normal(*shape), w, bias, keep_num_dims=keep, fused_activation_function="RELU")


@pytest.mark.parametrize("options", [{}, {"padding": "VALID", "stride_h": 2, "stride_w": 2}])
@pytest.mark.parametrize("op", ["MAX_POOL_2D", "AVERAGE_POOL_2D", "L2_POOL_2D"])
def test_pools(op: str, options: dict[str, Any], tmp_path: Path) -> None:
    check_op(tmp_path, op, IMAGE, **with_options(filter_height=3, filter_width=2, **options))


@pytest.mark.parametrize("mode", [{}, {"align_corners": True}, {"half_pixel_centers": True}])
@pytest.mark.parametrize("sizes", [(11, 9), (4, 3), (14, 6)])
@pytest.mark.parametrize("op", ["RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"])
def test_resizing(op: str, sizes: tuple[int, int], mode: dict[str, bool], tmp_path: Path) -> None:
    check_op(tmp_path, op, IMAGE, const(ints(*sizes)), **mode)


def test_depth_and_space(tmp_path: Path) -> None:
    check_op(tmp_path, "DEPTH_TO_SPACE", normal(2, 3, 2, 12), block_size=2)
    check_op(tmp_path, "SPACE_TO_DEPTH", normal(2, 6, 4, 3), block_size=2)


def test_batch_and_space(tmp_path: Path) -> None:
    check_op(tmp_path, "SPACE_TO_BATCH_ND", normal(2, 5, 4, 3), const(ints(2, 3)), const(ints((1, 0), (1, 1))))
    check_op(tmp_path, "BATCH_TO_SPACE_ND", normal(12, 3, 2, 3), const(ints(2, 3)), const(ints((1, 0), (1, 1))))


def test_local_response_normalization(tmp_path: Path) -> None:
    check_op(tmp_path, "LOCAL_RESPONSE_NORMALIZATION", normal(1, 3, 2, 9), radius=2, bias=1.5, alpha=0.3, beta=0.75)


# ---- quantized -------------------------------------------------------------------------------------------------------------------


def bias(w: Given, scale: float, axis: int) -> Given:
    """Integers in steps of the products' scale."""
    count = w.value.shape[axis]
    steps = [scale * s for s in (w.scale if len(w.scale) > 1 else [w.scale[0]] * count)]
    value = np.random.default_rng(5).integers(-2000, 2000, count).astype(np.int32)
    return Given(value, constant=True, scale=steps if len(w.scale) > 1 else steps[:1])


@pytest.mark.parametrize("activation", ["NONE", "RELU6"])
def test_conv_2d_by_channel(activation: str, tmp_path: Path) -> None:
    w = weights(5, 3, 3, 4, axis=0)
    options = with_options(stride_h=2, stride_w=2, fused_activation_function=activation)
    check_op(tmp_path, "CONV_2D", quantized(2, 7, 6, 4), w, bias(w, 0.05, 0), results=(CODES,), **options)


def test_depthwise_conv_2d_by_channel(tmp_path: Path) -> None:
    w = weights(1, 3, 3, 4, axis=3)
    options = with_options(depth_multiplier=1)
    check_op(tmp_path, "DEPTHWISE_CONV_2D", quantized(2, 7, 6, 4), w, bias(w, 0.05, 3), results=(CODES,), **options)


def test_unsigned_with_zero_points(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    w = Given(rng.integers(0, 256, (5, 3, 3, 4)).astype(np.uint8), constant=True, scale=(0.01,), zero=(120,))
    x = quantized(2, 7, 6, 4, dtype=np.uint8, zero=90)
    check_op(tmp_path, "CONV_2D", x, w, bias(w, 0.05, 0), results=(Result("UINT8", (0.3,), (128,)),), **with_options())


def test_fully_connected_by_tensor(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    w = Given(rng.integers(-127, 128, (5, 8)).astype(np.int8), constant=True, scale=(0.01,), zero=(0,))
    check_op(tmp_path, "FULLY_CONNECTED", quantized(3, 8), w, bias(w, 0.05, 0), results=(CODES,), fused_activation_function="RELU")


def test_transpose_conv_by_channel(tmp_path: Path) -> None:
    w = weights(5, 3, 3, 4, axis=0)
    shape, options = const(ints(2, 14, 12, 5)), with_options(stride_h=2, stride_w=2)
    check_op(tmp_path, "TRANSPOSE_CONV", shape, w, quantized(2, 7, 6, 4), bias(w, 0.05, 0), results=(CODES,), **options)


def test_sixteen_bit_activations(tmp_path: Path) -> None:
    w = weights(5, 3, 3, 4, axis=0)
    x = Given((normal(2, 7, 6, 4) * 3000).astype(np.int16), scale=(0.001,), zero=(0,))
    b = bias(w, 0.001, 0)
    wide = Given(b.value.astype(np.int64), constant=True, scale=b.scale)
    check_op(tmp_path, "CONV_2D", x, w, wide, results=(Result("INT16", (0.002,), (0,)),), **with_options())


@pytest.mark.parametrize("op", ["MAX_POOL_2D", "AVERAGE_POOL_2D"])
def test_pools_of_integers(op: str, tmp_path: Path) -> None:
    result = Result("INT8", (0.05,), (3,))
    steps = 0 if op == "MAX_POOL_2D" else 1
    check_op(tmp_path, op, quantized(2, 7, 6, 4), results=(result,), steps=steps, **with_options(filter_height=3, filter_width=2))


@pytest.mark.parametrize("op", ["RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"])
def test_resizing_of_integers(op: str, tmp_path: Path) -> None:
    check_op(tmp_path, op, quantized(1, 4, 5, 3), const(ints(9, 7)), results=(Result("INT8", (0.05,), (3,)),), half_pixel_centers=True)


def test_weights_of_four_bits(tmp_path: Path) -> None:
    """Two to a byte, the low bits first."""
    codes = np.random.default_rng(6).integers(-7, 8, (5, 8)).astype(np.int8)
    packed = (codes.reshape(-1)[::2] & 15 | (codes.reshape(-1)[1::2] & 15) << 4).astype(np.uint8).tobytes()
    x = quantized(3, 8)
    wide = Given(codes, constant=True, scale=(0.1,), zero=(0,))
    data, feeds = op_model("FULLY_CONNECTED", (x, wide, None), (CODES,), {})
    narrow = _with_packed(x, codes.shape, packed)
    wanted = imported(data, feeds, tmp_path)
    np.testing.assert_array_equal(imported(narrow, feeds, tmp_path)[0], wanted[0])


def _with_packed(x: Given, shape: tuple[int, ...], packed: bytes) -> bytes:
    from tests.ttc.importers.tflite.writer import Graph, Op, Tensor, model

    tensors = [
        Tensor("x0", x.value.shape, "INT8", None, x.scale, x.zero),
        Tensor("w", shape, "INT4", packed, (0.1,), (0,)),
        Tensor("y", (1,), CODES.kind, None, CODES.scale, CODES.zero),
    ]
    return model(Graph(tensors, ["x0"], ["y"], [Op("FULLY_CONNECTED", ["x0", "w"], ["y"])]))


def test_real_inputs_with_integer_weights(tmp_path: Path) -> None:
    """TensorFlow rounds such inputs to integers, batch by batch: it is within what that costs."""
    w = weights(5, 8, axis=0)
    w = Given(w.value, constant=True, scale=(0.01,), zero=(0,))
    check_op(tmp_path, "FULLY_CONNECTED", normal(3, 8), w, const(normal(5)), atol=0.05)


# ---- refusals --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "w", "options"),
    [
        ("E0402", (5, 3, 3, 4), {"stride_h": 0}),
        ("E0402", (5, 3, 3, 4), {"stride_w": -1}),
        ("E0402", (5, 3, 3, 4), {"dilation_h_factor": 0}),
        ("E0401", (5, 3, 3, 3), {}),
        ("E0401", (5, 3, 3, 0), {}),
        ("E0402", (5, 0, 3, 4), {}),
        ("E0401", (5, 9, 9, 4), {"padding": "VALID"}),
        ("E0401", (5, 3, 4), {}),
    ],
)
def test_windows_that_cannot_be(code: str, w: tuple[int, ...], options: dict[str, Any], tmp_path: Path) -> None:
    data, feeds = op_model("CONV_2D", (IMAGE, const(np.zeros(w, np.float32))), (Result(),), with_options(**options))
    with pytest.raises(Error) as caught:
        imported(data, feeds, tmp_path)
    assert caught.value.code == code
    assert "y0" in str(caught.value)


@pytest.mark.parametrize("block", [0, -2, 1 << 30])
def test_blocks_that_cannot_be(block: int, tmp_path: Path) -> None:
    data, feeds = op_model("DEPTH_TO_SPACE", (IMAGE,), (Result(),), {"block_size": block})
    with pytest.raises(Error) as caught:
        imported(data, feeds, tmp_path)
    assert caught.value.code == "E0402"


def test_shuffled_weights_are_refused(tmp_path: Path) -> None:
    options = {"weights_format": "SHUFFLED4x16INT8"}
    data, feeds = op_model("FULLY_CONNECTED", (normal(3, 8), const(normal(5, 8))), (Result(),), options)
    with pytest.raises(Error, match="SHUFFLED4x16INT8") as caught:
        imported(data, feeds, tmp_path)
    assert caught.value.code == "E0202"
