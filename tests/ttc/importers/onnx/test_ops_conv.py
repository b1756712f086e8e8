"""Convolutions and pools against onnx's reference evaluator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.ttc.importers.onnx.cases import check, check_node, imported, node_model, normal
from ttc.dialects.core.errors import Error

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

X = normal(2, 4, 9, 8)
LINE = normal(2, 4, 11)


@pytest.mark.parametrize(
    "attrs",
    [
        {},
        {"strides": [2, 1], "pads": [1, 0, 2, 1]},
        {"dilations": [2, 2]},
        {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
        {"auto_pad": "SAME_LOWER", "strides": [2, 3]},
        {"auto_pad": "VALID"},
    ],
)
def test_conv(attrs: dict[str, Any], tmp_path: Path) -> None:
    check_node(tmp_path, "Conv", X, normal(6, 4, 3, 2), normal(6), kernel_shape=[3, 2], **attrs)


def test_conv_by_groups(tmp_path: Path) -> None:
    check_node(tmp_path, "Conv", X, normal(6, 2, 3, 3), group=2, pads=[1, 1, 1, 1])


def test_conv_over_one_dimension(tmp_path: Path) -> None:
    check_node(tmp_path, "Conv", LINE, normal(6, 4, 3), normal(6), strides=[2], pads=[1, 2])


@pytest.mark.parametrize(
    "attrs",
    [
        {},
        {"pads": [1, 0, 2, 0, 1, 1], "strides": [2, 1, 2]},
        {"dilations": [2, 1, 2], "auto_pad": "SAME_UPPER"},
        {"group": 2, "pads": [1, 1, 1, 1, 1, 1]},
    ],
)
def test_conv_over_three_dimensions(attrs: dict[str, Any], tmp_path: Path) -> None:
    group = attrs.get("group", 1)
    check_node(tmp_path, "Conv", normal(2, 4, 6, 5, 7), normal(6, 4 // group, 3, 2, 3), normal(6), **attrs)


VOLUMES = [
    {},
    {"strides": [2, 1, 3], "pads": [1, 0, 1, 0, 1, 1]},
    {"ceil_mode": 1, "strides": [2, 2, 2]},
    {"dilations": [2, 1, 1]},
]


@pytest.mark.parametrize("attrs", VOLUMES)
def test_pools_over_three_dimensions(attrs: dict[str, Any], tmp_path: Path) -> None:
    x = normal(2, 3, 6, 5, 7)
    check_node(tmp_path, "MaxPool", x, kernel_shape=[3, 2, 3], **attrs)
    for include in (0, 1):
        check_node(tmp_path, "AveragePool", x, kernel_shape=[3, 2, 3], count_include_pad=include, opset=22, **attrs)


def lp_pool(x: np.ndarray, p: int, k: int, stride: int, pads: tuple[int, int], count: int) -> np.ndarray:
    """Over [n, c, w], window by window."""
    padded = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[1] + k)))
    return np.stack([(np.abs(padded[..., i * stride : i * stride + k]) ** p).sum(-1) ** (1 / p) for i in range(count)], -1)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_lp_pool(p: int, tmp_path: Path) -> None:
    x = normal(2, 3, 8)
    model, feeds = node_model("LpPool", x, kernel_shape=[3], p=p, strides=[2], pads=[1, 0])
    check(model, feeds, tmp_path, wanted=[lp_pool(x, p, 3, 2, (1, 0), 4).astype(np.float32)])
    model, feeds = node_model("LpPool", x, kernel_shape=[3], p=p, strides=[2], ceil_mode=1)
    check(model, feeds, tmp_path, wanted=[lp_pool(x, p, 3, 2, (0, 0), 4).astype(np.float32)])
    model, feeds = node_model("GlobalLpPool", x, p=p)
    check(model, feeds, tmp_path, wanted=[(np.abs(x) ** p).sum(-1, keepdims=True) ** (1 / p)])


def test_conv_transpose_of_a_size_beyond_its_windows_ends_in_zeros(tmp_path: Path) -> None:
    x, w = normal(1, 1, 3, 3), normal(1, 2, 3, 3)
    plain = imported(*node_model("ConvTranspose", x, w, strides=[3, 2]), tmp_path)[0]
    model, feeds = node_model("ConvTranspose", x, w, strides=[3, 2], output_shape=[10, 8])
    check(model, feeds, tmp_path, wanted=[np.pad(plain, ((0, 0), (0, 0), (0, 1), (0, 1)))])


@pytest.mark.parametrize(
    "attrs",
    [
        {},
        {"strides": [2, 2], "pads": [1, 0, 1, 1], "output_padding": [1, 0]},
        {"dilations": [2, 1]},
    ],
)
def test_conv_transpose(attrs: dict[str, Any], tmp_path: Path) -> None:
    check_node(tmp_path, "ConvTranspose", X, normal(4, 3, 3, 2), normal(3), **attrs)


def test_conv_transpose_by_groups(tmp_path: Path) -> None:
    w = normal(4, 3, 3, 2)
    halves = []
    for part in (slice(0, 2), slice(2, 4)):
        model, feeds = node_model("ConvTranspose", X[:, part], w[part], strides=[2, 1])
        halves.extend(imported(model, feeds, tmp_path))
    model, feeds = node_model("ConvTranspose", X, w, strides=[2, 1], group=2)
    check(model, feeds, tmp_path, wanted=[np.concatenate(halves, axis=1)])


def test_conv_transpose_over_one_dimension(tmp_path: Path) -> None:
    check_node(tmp_path, "ConvTranspose", LINE, normal(4, 3, 3), strides=[2])


@pytest.mark.parametrize(
    ("attrs", "cut"),
    [
        ({"strides": [2, 2], "output_shape": [18, 17]}, (slice(1, 19), slice(0, 17))),
        ({"strides": [2, 2], "output_shape": [18, 16], "auto_pad": "SAME_UPPER"}, (slice(0, 18), slice(0, 16))),
        ({"strides": [2, 2], "auto_pad": "SAME_LOWER"}, (slice(1, 19), slice(1, 17))),
    ],
)
def test_conv_transpose_of_a_wanted_size(attrs: dict[str, Any], cut: tuple[slice, slice], tmp_path: Path) -> None:
    """A kernel of 3 at strides of 2 reaches 19 x 17; what is too much goes from the end (upper) or the beginning, as in onnxruntime."""
    w = normal(4, 3, 3, 3)
    whole, feeds = node_model("ConvTranspose", X, w, strides=[2, 2])
    (full,) = imported(whole, feeds, tmp_path)
    model, feeds = node_model("ConvTranspose", X, w, **attrs)
    check(model, feeds, tmp_path, wanted=[full[:, :, cut[0], cut[1]]])


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize(
    "attrs",
    [
        {},
        {"strides": [2, 2], "pads": [1, 1, 1, 1]},
        {"strides": [2, 3], "ceil_mode": 1},
        {"strides": [2, 2], "auto_pad": "SAME_UPPER"},
    ],
)
def test_pool(op: str, attrs: dict[str, Any], tmp_path: Path) -> None:
    check_node(tmp_path, op, X, kernel_shape=[3, 3], **attrs)


def test_average_pool_counts_padding_if_asked(tmp_path: Path) -> None:
    check_node(tmp_path, "AveragePool", X, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_pool_over_one_dimension(op: str, tmp_path: Path) -> None:
    check_node(tmp_path, op, LINE, kernel_shape=[3], strides=[2])


def test_max_pool_dilates(tmp_path: Path) -> None:
    check_node(tmp_path, "MaxPool", X, kernel_shape=[2, 2], dilations=[2, 3])


@pytest.mark.parametrize(("op", "reduce"), [("GlobalAveragePool", np.mean), ("GlobalMaxPool", np.max)])
def test_global_pool(op: str, reduce: Any, tmp_path: Path) -> None:
    model, feeds = node_model(op, X)
    check(model, feeds, tmp_path, wanted=[reduce(X, axis=(2, 3), keepdims=True)])


@pytest.mark.parametrize("attrs", [{"strides": [0, 1]}, {"pads": [1, 1]}, {"auto_pad": "SAME"}, {"strides": [1 << 40, 1]}])
def test_attributes_out_of_range(attrs: dict[str, Any], tmp_path: Path) -> None:
    model, feeds = node_model("Conv", X, normal(6, 4, 3, 3), **attrs)
    with pytest.raises(Error) as caught:
        imported(model, feeds, tmp_path)
    assert caught.value.code == "E0402"


@pytest.mark.parametrize(
    "attrs",
    [
        {},
        {"strides": [2, 1, 3], "pads": [1, 0, 1, 0, 1, 1], "output_padding": [1, 0, 2]},
        {"dilations": [2, 1, 1], "group": 2},
    ],
)
def test_transposed_convolution_of_volumes(attrs: dict[str, Any], tmp_path: Path) -> None:
    x, w, bias = normal(2, 4, 3, 4, 2), normal(4, 3, 2, 3, 3), normal(3 * attrs.get("group", 1))
    model, feeds = node_model("ConvTranspose", x, w, bias, **attrs)
    pads, extra = attrs.get("pads", [0] * 6), attrs.get("output_padding", [0] * 3)
    options = {"stride": attrs.get("strides", 1), "dilation": attrs.get("dilations", 1), "groups": attrs.get("group", 1)}
    full = torch.nn.functional.conv_transpose3d(*(torch.from_numpy(v) for v in (x, w, bias)), **options).numpy()
    padded = np.zeros((*full.shape[:2], *(d + e for d, e in zip(full.shape[2:], extra, strict=True))), np.float32) + bias.reshape(
        -1, 1, 1, 1
    )
    padded[:, :, : full.shape[2], : full.shape[3], : full.shape[4]] = full
    wanted = padded[(slice(None), slice(None), *(slice(pads[i], padded.shape[2 + i] - pads[3 + i]) for i in range(3)))]
    check(model, feeds, tmp_path, wanted=[wanted], atol=1e-4)
