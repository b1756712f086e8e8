"""Pooling over channels-last images as ops of tile."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from ttc.dialects.core.errors import Error
from ttc.dialects.core.kernels.windows import window_counts, windows
from ttc.dialects.tile.base import TILE, Tile, TileOp


@irdl_op_definition
class MaxPool2dOp(TileOp):
    """Largest element of each window; padding never wins.

    Args:    x: tile[n, h, w, c].  kernel: kh, kw.  strides: sh, sw.  pads: top, left, bottom, right.  dilations: dh, dw.
             ceil_mode: a last window that starts inside the padded image but ends outside counts.
    Returns: y: tile[n, h', w', c].
    Raises:  E0401 if the window does not fit, E0402 for attributes out of range.
    """

    name = "tile.max_pool2d"
    x = operand_def(TILE)
    y = result_def(TILE)
    traits = traits_def(Pure())


@irdl_op_definition
class AvgPool2dOp(TileOp):
    """The mean of each window of images.

    Args:    x: tile[n, h, w, c].  kernel: kh, kw.  strides: sh, sw.  pads: top, left, bottom, right.  dilations: dh, dw.
             ceil_mode: a last window that starts inside the padded image but ends outside counts.
             count_include_pad: padding counts as zeros instead of being left out of the mean.
    Returns: y: tile[n, h', w', c].
    Raises:  E0401 if the window does not fit, E0402 for attributes out of range.
    """

    name = "tile.avg_pool2d"
    x = operand_def(TILE)
    y = result_def(TILE)
    traits = traits_def(Pure())


def _pooled(
    x: Tile, kernel: tuple[int, ...], strides: tuple[int, ...], pads: tuple[int, ...], dilations: tuple[int, ...], ceil_mode: bool
) -> tuple[int, ...]:
    if len(x.shape) != 4:
        raise Error("E0401", f"pooling needs an image of rank 4, not {list(x.shape)}")
    n, h, w, c = x.shape
    return (n, *window_counts((h, w), windows(kernel, strides, pads, dilations, ceil_mode)), c)
