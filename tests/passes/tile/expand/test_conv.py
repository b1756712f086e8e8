"""Convolutions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.passes.tile.vocabulary import expand, one_op
from ttc.dialects.tile.base import Tile
from ttc.dialects.tile.conv import Conv2dOp, ConvTranspose2dOp

IMAGE = (2, 9, 8, 12)


def shaped(shape: tuple[int, ...], fold: int = 3) -> str:
    return f"Float32[{', '.join(map(str, shape))}; {min(fold, max(len(shape) - 1, 1))}]"


def conv(kernel: tuple[int, int], outputs: int, bias: tuple[int, ...] | None, image: tuple[int, ...] = IMAGE, **attrs: Any) -> str:
    given = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1), "groups": 1} | attrs
    weights = (*kernel, image[3] // given["groups"], outputs)
    result = Conv2dOp.infer(Tile(image, "Float32"), Tile(weights, "Float32"), **given)
    operands = [image, weights] if bias is None else [image, weights, bias]
    return one_op("tile.conv2d", [shaped(s) for s in operands], shaped(result), given, absent=3 - len(operands))


WINDOWS: list[dict[str, Any]] = [
    {},
    {"pads": (1, 1, 1, 1)},
    {"strides": (2, 1), "pads": (0, 2, 1, 0)},
    {"dilations": (2, 3), "pads": (1, 1, 1, 1)},
    {"strides": (3, 2), "dilations": (2, 1), "pads": (2, 0, 1, 3)},
]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize(("groups", "outputs"), [(1, 5), (3, 6), (12, 12), (12, 24)])
def test_windows_and_groups(window: dict[str, Any], groups: int, outputs: int) -> None:
    expand(conv((3, 2), outputs, (outputs,), groups=groups, **window))


@pytest.mark.parametrize("bias", [None, (5,), (1, 1, 1, 5), (1, 9, 8, 5), (2, 1, 1, 1)])
@pytest.mark.parametrize("activation", [None, "relu", "silu"])
def test_bias_and_activation(bias: tuple[int, ...] | None, activation: str | None) -> None:
    after: dict[str, Any] = {} if activation is None else {"activation": activation}
    expand(conv((1, 1), 5, bias, **after))
    expand(conv((3, 3), 12, None if bias is None else (*bias[:-1], 12), groups=12, pads=(1, 1, 1, 1), **after))


def test_a_pointwise_convolution_is_one_product() -> None:
    outcome = expand(conv((1, 1), 5, (5,), activation="relu"))
    assert [n for n in outcome.names() if n not in ("tile.reshape", "tile.relayout")] == ["tile.matmul"]


def test_taps_are_gathered_once() -> None:
    outcome = expand(conv((3, 3), 64, (64,), (1, 8, 8, 32), pads=(1, 1, 1, 1)))
    assert [n for n in outcome.names() if n not in ("tile.reshape", "tile.relayout")] == ["tile.sparse_matmul", "tile.matmul"]


def test_weights_are_stored_as_they_are_read() -> None:
    fragment = """(%x: Float32[1, 8, 8, 12; 3])
        %w = ttc.constant() {value = #ttc.weight<"w", f32[3, 3, 12, 20]>} : () -> Float32[3, 3, 12, 20; 3]
        %y = tile.conv2d(%x, %w, _) {strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], groups = 1}
            : (Float32[1, 8, 8, 12; 3], Float32[3, 3, 12, 20; 3]) -> Float32[1, 8, 8, 20; 3]
        return %y : Float32[1, 8, 8, 20; 3]"""
    assert expand(fragment).names().count("tile.sparse_matmul") == 1


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize(("groups", "output_padding"), [(1, (0, 0)), (3, (0, 0)), (1, (1, 1))])
def test_conv_transpose2d(window: dict[str, Any], groups: int, output_padding: tuple[int, int]) -> None:
    attrs = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1), "groups": groups, "output_padding": output_padding} | window
    weights = (3, 2, 4, 12)
    result = ConvTranspose2dOp.infer(Tile(IMAGE, "Float32"), Tile(weights, "Float32"), **attrs)
    operands = [shaped(IMAGE), shaped(weights), shaped((4 * groups,))]
    expand(one_op("tile.conv_transpose2d", operands, shaped(result), attrs))
