"""Lowering of resizing; what only repeats elements, and on tiles all that is a product, nn passes have expressed by other ops."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.nn.resize import ResizeByOp, ResizeOp
from ttc.dialects.tile import resize as tile
from ttc.passes.nn_to_tile.lowering import Lowering, in_rows


def lower_resize(op: ResizeOp, low: Lowering) -> SSAValue:
    """Lower nn.resize to tile.resize, in row layout."""
    return in_rows(op, tile.ResizeOp, low)


def lower_resize_by(op: ResizeByOp, low: Lowering) -> SSAValue:
    """tile.resize_by; what has sizes that data decide is refused before."""
    return in_rows(op, tile.ResizeByOp, low)
