"""Lowering of convolutions from nn to tile."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.nn.conv import Conv2dOp, ConvTranspose2dOp
from ttc.dialects.tile import conv as tile
from ttc.dialects.tile.base import TileOp
from ttc.dialects.tile.shape import TransposeOp
from ttc.passes.nn_to_tile.lowering import Lowering
from ttc.passes.nn_to_tile.pool import IMAGE, image, image_back, image_folds


def wants_conv2d(op: Conv2dOp) -> dict[SSAValue, int]:
    return _wants(op)


def wants_conv_transpose2d(op: ConvTranspose2dOp) -> dict[SSAValue, int]:
    return _wants(op)


def lower_conv2d(op: Conv2dOp, low: Lowering) -> SSAValue:
    """tile.conv2d, between transposes if the channels are first."""
    return _convolve(op, low, tile.Conv2dOp)


def lower_conv_transpose2d(op: ConvTranspose2dOp, low: Lowering) -> SSAValue:
    """tile.conv_transpose2d, between transposes if the channels are first."""
    return _convolve(op, low, tile.ConvTranspose2dOp)


def _wants(op: Conv2dOp | ConvTranspose2dOp) -> dict[SSAValue, int]:
    return image_folds(op) | {op.w: IMAGE if op.plain_attrs()["layout"] == "nhwc" else 1}


def _convolve(op: Conv2dOp | ConvTranspose2dOp, low: Lowering, kind: type[TileOp]) -> SSAValue:
    attrs = op.plain_attrs()
    channels_last = attrs.pop("layout") == "nhwc"
    w = low.tile(op.w, IMAGE) if channels_last else low.emit(TransposeOp, low.tile(op.w, 1), perm=(2, 3, 1, 0), fold=IMAGE)
    bias = None if op.bias is None else low.tile(op.bias)
    y = low.emit(kind, image(op, low), w, bias, like=op.y, fold=IMAGE, **attrs)
    return image_back(op, y, low)
