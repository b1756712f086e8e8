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
    (result,) = Conv2dOp.infer(Tile(image, "Float32"), Tile(weights, "Float32"), **given)
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
    (result,) = ConvTranspose2dOp.infer(Tile(IMAGE, "Float32"), Tile(weights, "Float32"), **attrs)
    operands = [shaped(IMAGE), shaped(weights), shaped((4 * groups,))]
    expand(one_op("tile.conv_transpose2d", operands, shaped(result), attrs))


LARGE = (2, 72, 64, 32)
"""An image that no core holds."""


@pytest.mark.parametrize(
    ("window", "rows"),
    [
        ({"pads": (1, 1, 1, 1)}, True),
        ({"strides": (2, 2), "pads": (0, 1, 1, 0)}, True),
        ({"dilations": (2, 1)}, False),  # 68 x 62 windows: no band fills whole tiles
    ],
)
def test_large_images_are_passed_over_once_a_row_of_taps(window: dict[str, Any], rows: bool) -> None:
    names = [n for n in expand(conv((3, 3), 8, (8,), LARGE, **window)).names() if n not in ("tile.reshape", "tile.relayout")]
    assert names == (["tile.sparse_matmul"] * 3 + ["tile.concat", "tile.matmul"] if rows else ["tile.sparse_matmul", "tile.matmul"])


def test_large_transposed_convolutions() -> None:
    attrs = {"strides": (2, 2), "pads": (0, 0, 0, 0), "dilations": (1, 1), "groups": 1, "output_padding": (0, 0)}
    image, weights = (1, 80, 64, 4), (2, 2, 8, 4)
    (result,) = ConvTranspose2dOp.infer(Tile(image, "Float32"), Tile(weights, "Float32"), **attrs)
    outcome = expand(one_op("tile.conv_transpose2d", [shaped(image), shaped(weights)], shaped(result), attrs, absent=1))
    assert "tile.concat" in outcome.names()


@pytest.mark.parametrize(("n", "channels"), [(1, 3), (2, 3), (1, 13)])
def test_planes_give_columns_of_taps_first(n: int, channels: int) -> None:
    planes, image = f"Float32[{n}, {channels}, 80, 64]", f"Float32[{n}, 80, 64, {channels}; 3]"
    fragment = f"""(%x: {planes}, %w: Float32[5, 3, {channels}, 8; 3])
        %t = tile.transpose(%x) {{perm = [0, 2, 3, 1]}} : ({planes}) -> {image}
        %y = tile.conv2d(%t, %w, _) {{strides = [2, 2], pads = [2, 1, 2, 1], dilations = [1, 1], groups = 1}}
            : ({image}, Float32[5, 3, {channels}, 8; 3]) -> Float32[{n}, 40, 32, 8; 3]
        return %y : Float32[{n}, 40, 32, 8; 3]"""
    names = [name for name in expand(fragment).names() if name not in ("tile.reshape", "tile.relayout", "tile.transpose")]
    few = 5 * channels <= 64
    assert names.count("tile.concat") == (0 if few else 1)
    assert names[-1] == "tile.matmul"


def test_patches_of_planes() -> None:
    planes, image = "Float32[2, 3, 84, 84]", "Float32[2, 84, 84, 3; 3]"
    fragment = f"""(%x: {planes}, %w: Float32[12, 12, 3, 8; 3])
        %t = tile.transpose(%x) {{perm = [0, 2, 3, 1]}} : ({planes}) -> {image}
        %y = tile.conv2d(%t, %w, _) {{strides = [12, 12], pads = [0, 0, 0, 0], dilations = [1, 1], groups = 1}}
            : ({image}, Float32[12, 12, 3, 8; 3]) -> Float32[2, 7, 7, 8; 3]
        return %y : Float32[2, 7, 7, 8; 3]"""
    names = [name for name in expand(fragment).names() if name not in ("tile.reshape", "tile.relayout", "tile.transpose")]
    assert "tile.matmul" in names
    assert "tile.concat" not in names
