"""Convolutions over channels-last images, against sums written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.draws import generator
from tests.ops.tile_cases import check_error, check_op
from ttc.dialects.tile.conv import Conv2dOp, ConvTranspose2dOp

X = generator("tile_conv.X").standard_normal((2, 6, 7, 4)).astype(np.float32)
ATTRS = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1), "groups": 1}


def convolved(x: NDArray, w: NDArray, strides: Any, pads: Any, dilations: Any, groups: int) -> NDArray:
    """The definition, tap by tap and group by group."""
    x = np.pad(x, ((0, 0), (pads[0], pads[2]), (pads[1], pads[3]), (0, 0))).astype(np.float64)
    kh, kw, depth, outputs = w.shape
    rows = (x.shape[1] - dilations[0] * (kh - 1) - 1) // strides[0] + 1
    cols = (x.shape[2] - dilations[1] * (kw - 1) - 1) // strides[1] + 1
    y = np.zeros((x.shape[0], rows, cols, outputs))
    for group in range(groups):
        part = slice(group * outputs // groups, (group + 1) * outputs // groups)
        inputs = x[..., group * depth : (group + 1) * depth]
        for i in range(kh):
            for j in range(kw):
                top, left = i * dilations[0], j * dilations[1]
                taps = inputs[:, top : top + rows * strides[0] : strides[0], left : left + cols * strides[1] : strides[1]][:, :rows, :cols]
                y[..., part] += taps @ w[i, j, :, part]
    return y.astype(np.float32)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"strides": (2, 1), "pads": (1, 0, 2, 1)},
        {"dilations": (2, 3)},
        {"groups": 2},
        {"groups": 4, "pads": (1, 1, 1, 1)},
    ],
)
def test_conv2d(change: dict[str, Any], rng: np.random.Generator) -> None:
    attrs = {**ATTRS, **change}
    w = rng.standard_normal((3, 2, 4 // attrs["groups"], 8)).astype(np.float32)
    bias = rng.standard_normal(8).astype(np.float32)
    check_op(Conv2dOp, [X, w, bias], {**attrs, "activation": "relu"}, np.maximum(convolved(X, w, **attrs) + bias, 0), 1e-5)


def test_conv_transpose2d_is_the_transpose_of_conv2d(rng: np.random.Generator) -> None:
    w = rng.standard_normal((3, 2, 5, 4)).astype(np.float32)
    attrs = {"strides": (2, 1), "pads": (1, 0, 0, 1), "output_padding": (1, 0), "dilations": (1, 2), "groups": 1}
    y = np.zeros((2, 6 * 2 + 3, 7 + 2, 5))
    for i in range(3):
        for j in range(2):
            y[:, i : i + 11 : 2, 2 * j : 2 * j + 7] += X @ w[i, j].T
    check_op(ConvTranspose2dOp, [X, w, None], attrs, y[:, 1:14, :8].astype(np.float32), 1e-5)


@pytest.mark.parametrize(
    ("w", "change", "code"),
    [
        ((3, 3, 3, 8), {}, "E0401"),
        ((3, 3, 2, 7), {"groups": 2}, "E0401"),
        ((3, 3, 4), {}, "E0401"),
        ((9, 3, 4, 8), {}, "E0401"),
        ((3, 3, 4, 8), {"strides": (0, 1)}, "E0402"),
        ((3, 3, 4, 8), {"pads": (0, 0)}, "E0402"),
    ],
)
def test_what_does_not_fit(w: tuple[int, ...], change: dict[str, Any], code: str) -> None:
    check_error(Conv2dOp, [(2, 6, 7, 4), w, None], {**ATTRS, **change}, code)


@pytest.mark.parametrize(("w", "groups", "strides", "code"), [((3, 3, 2, 3), 1, (1, 1), "E0401"), ((3, 3, 2, 4), 1, (0, 1), "E0402")])
def test_what_does_not_fit_a_transpose(w: tuple[int, ...], groups: int, strides: tuple[int, int], code: str) -> None:
    attrs = {**ATTRS, "output_padding": (0, 0), "groups": groups, "strides": strides}
    check_error(ConvTranspose2dOp, [(2, 6, 7, 4), w, None], attrs, code)
