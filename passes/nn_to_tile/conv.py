"""Lowering of convolutions from nn to tile."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.nn.conv import Conv2dOp, ConvTranspose2dOp
from ttc.dialects.tile import conv as tile
from ttc.dialects.tile.base import TileOp
from ttc.dialects.tile.shape import TransposeOp
from ttc.passes.nn_to_tile import TO_TILE, WISHES
from ttc.passes.nn_to_tile.lowering import FunctionLowering
from ttc.passes.nn_to_tile.pool import IMAGE, image, image_back, image_folds


@WISHES.rule("conv2d", "conv_transpose2d")
def wants_convolution(op: Conv2dOp | ConvTranspose2dOp) -> dict[SSAValue, int]:
    return image_folds(op) | {op.w: IMAGE if op.plain_attrs()["layout"] == "nhwc" else 1}


TO_TILE.add("conv2d", lambda op, low: _convolve(op, low, tile.Conv2dOp))
TO_TILE.add("conv_transpose2d", lambda op, low: _convolve(op, low, tile.ConvTranspose2dOp))


def _convolve(op: Conv2dOp | ConvTranspose2dOp, low: FunctionLowering, kind: type[TileOp]) -> SSAValue:
    attrs = op.plain_attrs()
    channels_last = attrs.pop("layout") == "nhwc"
    w = low.tile(op.w, IMAGE) if channels_last else low.emit(TransposeOp, low.tile(op.w, 1), perm=(2, 3, 1, 0), fold=IMAGE)
    bias = None if op.bias is None else low.tile(op.bias)
    y = low.emit(kind, image(op, low), w, bias, like=op.y, fold=IMAGE, **attrs)
    return image_back(op, y, low)
