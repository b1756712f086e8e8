"""Pools."""

from __future__ import annotations

from typing import Any

import pytest

from tests.passes.tile.vocabulary import expand, one_op
from ttc.dialects.tile.base import Tile, twin

IMAGE = (2, 9, 8, 6)
WINDOWS: list[dict[str, Any]] = [
    {},
    {"pads": (1, 1, 1, 1)},
    {"kernel": (2, 2), "strides": (2, 2), "pads": (0, 0, 1, 1), "ceil_mode": True},
    {"kernel": (2, 3), "strides": (3, 2), "ceil_mode": True},
    {"dilations": (2, 1), "pads": (2, 1, 2, 1)},
    {"kernel": (2, 2), "strides": (4, 4), "pads": (2, 2, 2, 2)},
    {"kernel": (9, 8)},
]


def pool(name: str, window: dict[str, Any], **more: Any) -> str:
    attrs = {"kernel": (3, 3), "strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1), "ceil_mode": False} | window
    (result,) = twin("max_pool2d").infer(Tile(IMAGE, "Float32"), **attrs)
    return one_op(name, ["Float32[2, 9, 8, 6; 3]"], f"Float32[{', '.join(map(str, result))}; 3]", attrs | more)


@pytest.mark.parametrize("window", WINDOWS)
def test_max_pool2d(window: dict[str, Any]) -> None:
    expand(pool("tile.max_pool2d", window), 0)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("count_include_pad", [False, True])
def test_avg_pool2d(window: dict[str, Any], count_include_pad: bool) -> None:
    expand(pool("tile.avg_pool2d", window, count_include_pad=count_include_pad))


def test_padding_at_the_edge_needs_no_values() -> None:
    outcome = expand(pool("tile.max_pool2d", {"pads": (1, 1, 1, 1)}), 0)
    assert [n for n in outcome.names() if n != "tile.reshape"] == ["tile.sparse_matmul", "tile.reduce"]


def test_large_images_are_passed_over_once_a_row_of_taps() -> None:
    attrs = {"kernel": (3, 3), "strides": (2, 2), "pads": (1, 1, 1, 1), "dilations": (1, 1), "ceil_mode": False}
    fragment = one_op("tile.max_pool2d", ["Float32[1, 80, 64, 6; 3]"], "Float32[1, 40, 32, 6; 3]", attrs)
    names = [name for name in expand(fragment, 0).names() if name != "tile.reshape"]
    assert names == ["tile.sparse_matmul", "tile.reduce"] * 3 + ["tile.map"] * 2
