"""Windows and rows that lie in no buffer as a whole."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.runtime.perf.conftest import LAYOUT, relu, tensor
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.netlist.model import Blocking, Grid, Op
from ttc.runtime.perf.rereads import readings

IMAGE = TensorType((1, 32, 32, 64), "Float16_b", "tiles(32, 32, 3)")
"""A tile row is a row of pixels; two tiles of channels."""


def conv(size: int, stride: int, rows: int, inner: tuple[int, int]) -> Op:
    """A convolution, so many tile rows of the result at a time."""
    weight = TensorType((size, size, 64, 64), "Float16_b", "tiles(32, 32, 3)")
    result = TensorType((1, 32 // stride, 32 // stride, 64), "Float16_b", "tiles(32, 32, 3)")
    work = Work("tile.conv2d", (0, 1), {"strides": (stride, stride), "dilations": (1, 1), "groups": 1}, (result,))
    return Op(
        "c", "conv2d", ("x", "w"), Grid(0, 0, 1, 1), Blocking(1, (rows, 2), (1, 1)), Function((IMAGE, weight), (work,), (2,)), inner=inner
    )


@pytest.mark.parametrize(
    ("size", "stride", "rows", "inner", "tiles", "times"),
    [
        (3, 1, 4, (18, 1), 6, 1),  # four rows and one on either side, a tile of channels at a time
        (3, 1, 4, (18, 1), 4, 9),
        (3, 1, 4, (9, 2), 12, 1),  # both tiles of channels at a time
        (3, 1, 4, (9, 2), 8, 9),
        (3, 1, 4, (1, 18), 12, 1),  # all taps of both in one block of K
        (1, 1, 4, (1, 2), 8, 1),
        (3, 2, 1, (18, 1), 5, 1),  # two rows of the result, 16 pixels wide
        (3, 2, 1, (18, 1), 4, 9 / 4),  # a tap meets a pixel in four
        (8, 8, 1, (128, 1), 8, 1),  # windows that do not overlap
    ],
)
def test_a_window_that_does_not_fit_is_read_once_a_tap(
    size: int, stride: int, rows: int, inner: tuple[int, int], tiles: int, times: int
) -> None:
    op = conv(size, stride, rows, inner)
    assert readings(op, 0, tiles) == times
    assert readings(op, 1, tiles) == 1


@pytest.mark.parametrize(("name", "times"), [("softmax", 3), ("layer_norm", 3), ("rms_norm", 2)])
def test_rows_that_do_not_fit_are_read_for_each_statistic(name: str, times: int) -> None:
    x = tensor(4, 8)
    flat = TensorType((4, 32, 256), "Float16_b", LAYOUT)
    works = (Work("tile.reshape", (0,), {"shape": (128, 256)}, (x,)), Work(f"tile.{name}", (1,), {}, (x,)))
    op = Op("s", name, ("x",), Grid(0, 0, 1, 1), Blocking(1, (4, 8), (1, 1)), Function((flat,), works, (2,)))
    assert (readings(op, 0, 8), readings(op, 0, 4)) == (1, times)


def test_other_ops_read_once() -> None:
    op = relu("a", "x", tensor(4, 4), Grid(0, 0, 1, 1))
    assert readings(op, 0, 1) == 1
    assert readings(replace(op, blocking=None), 0, 1) == 1
