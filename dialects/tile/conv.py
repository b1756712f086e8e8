"""Convolutions over channels-last images as ops of tile."""

from __future__ import annotations

from xdsl.irdl import AttrSizedOperandSegments, irdl_op_definition, operand_def, opt_operand_def, result_def

from ttc.dialects.tile.base import TILE, TileOp


@irdl_op_definition
class Conv2dOp(TileOp):
    """Convolution: y[n, h, w, o] = act(bias[o] + sum of x[n, h*sh + i*dh - top, w*sw + j*dw - left, c] w[i, j, c, o]).

    Args:    x: tile[n, h, w, c].  w: tile[kh, kw, c / groups, o].  bias: broadcasts to the result.
             strides: sh, sw.  pads: top, left, bottom, right.  dilations: dh, dw.  groups: channels are cut into so many independent parts.
             activation: mnemonic of a unary nn op applied to the result, activation_args: its float attributes in the order of its fields.
    Returns: y: tile[n, h', w', o].
    Raises:  E0401 if shapes do not fit, E0402 for attributes out of range.
    """

    name = "tile.conv2d"
    x = operand_def(TILE)
    w = operand_def(TILE)
    bias = opt_operand_def(TILE)
    y = result_def(TILE)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)


@irdl_op_definition
class ConvTranspose2dOp(TileOp):
    """Transposed convolution: each x[n, h, w, i] adds x * w[:, :, :, i] to the window of the result at (h*sh - top, w*sw - left).

    Args:    x: tile[n, h, w, i].  w: tile[kh, kw, o / groups, i].  bias: broadcasts to the result.
             strides: sh, sw.  pads: top, left, bottom, right, cut off the result.  output_padding: rows and columns added at the bottom
             and right.  dilations: of the window.  groups: channels are cut into so many independent parts.
    Returns: y: tile[n, h', w', o].
    Raises:  E0401 if shapes do not fit, E0402 for attributes out of range.
    """

    name = "tile.conv_transpose2d"
    x = operand_def(TILE)
    w = operand_def(TILE)
    bias = opt_operand_def(TILE)
    y = result_def(TILE)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
