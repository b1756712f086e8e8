"""When convolutions go Winograd's way, and how many tiles a task takes."""

from __future__ import annotations

import pytest

from ttc.runtime.engines.native.convolutions import Axis
from ttc.runtime.engines.native.winograd import Tiling


def same(size: int) -> Axis:
    """Three taps, and a border of one zero."""
    return Axis(size, size, 3, 1, 1, 1)


@pytest.mark.parametrize(
    ("outputs", "size", "gain"), [(2, 56, 2.25), (2, 7, 2.25 * 49 / 64), (4, 56, 4.0), (4, 14, 4 * 196 / 256), (2, 1, 9 / 16)]
)
def test_tiles_beyond_the_edge_are_counted(outputs: int, size: int, gain: float) -> None:
    tiles = -(-size // outputs)
    assert Tiling(outputs, tiles, tiles).gain((same(size), same(size))) == pytest.approx(gain)
