"""Lowering of pooling, and what all ops on images share."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.nn.conv import Conv2dOp, ConvTranspose2dOp
from ttc.dialects.nn.pool import AvgPool2dOp, MaxPool2dOp
from ttc.dialects.tile.base import twin
from ttc.dialects.tile.shape import TransposeOp
from ttc.passes.nn_to_tile import TO_TILE, WISHES
from ttc.passes.nn_to_tile.lowering import FunctionLowering

IMAGE = 3
"""The fold of images and filters with channels last: all dimensions but the channels are rows."""


@WISHES.rule("max_pool2d", "avg_pool2d")
def image_folds(op: Conv2dOp | ConvTranspose2dOp | MaxPool2dOp | AvgPool2dOp) -> dict[SSAValue, int]:
    """Return the folds of an image: all dimensions but the channels are rows."""
    return {op.x: IMAGE} if op.plain_attrs()["layout"] == "nhwc" else {op.x: 1}


def image(op: Conv2dOp | ConvTranspose2dOp | MaxPool2dOp | AvgPool2dOp, low: FunctionLowering) -> SSAValue:
    """Return the operand x as an image with channels last."""
    if op.plain_attrs()["layout"] == "nhwc":
        return low.tile(op.x, IMAGE)
    return low.emit(TransposeOp, low.tile(op.x, 1), perm=(0, 2, 3, 1), fold=IMAGE)


def image_back(op: Conv2dOp | ConvTranspose2dOp | MaxPool2dOp | AvgPool2dOp, y: SSAValue, low: FunctionLowering) -> SSAValue:
    """Return an image with channels last in the layout of the op."""
    if op.plain_attrs()["layout"] == "nhwc":
        return y
    return low.emit(TransposeOp, y, perm=(0, 3, 1, 2), fold=1)


@TO_TILE.rule("max_pool2d", "avg_pool2d")
def lower_pool(op: MaxPool2dOp | AvgPool2dOp, low: FunctionLowering) -> SSAValue:
    """Lower a pool to the tile op, which takes channels last, between transposes if the image is in another layout."""
    attrs = {k: v for k, v in op.plain_attrs().items() if k != "layout"}
    y = low.emit(twin(op.name.removeprefix("nn.")), image(op, low), like=op.y, fold=IMAGE, **attrs)
    return image_back(op, y, low)
