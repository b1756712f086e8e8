"""Convolutions over channels-last images as ops of tile."""

from __future__ import annotations

from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import FLOATS, INT, INTS, STR
from ttc.dialects.core.kernels.windows import transposed_counts, window_counts, windows
from ttc.dialects.tile.base import TILE, Tile, TileOp, require_broadcastable


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
    strides = prop_def(INTS)
    pads = prop_def(INTS)
    dilations = prop_def(INTS)
    groups = prop_def(INT)
    activation = opt_prop_def(STR)
    activation_args = opt_prop_def(FLOATS)
    y = result_def(TILE)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    @classmethod
    def infer(
        cls,
        x: Tile,
        w: Tile,
        bias: Tile | None = None,
        *,
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        dilations: tuple[int, ...],
        groups: int,
        activation: str | None = None,
        activation_args: tuple[float, ...] = (),
    ) -> tuple[int, ...]:
        _require_images(x, w)
        n, h, width, c = x.shape
        kh, kw, c_of_w, o = w.shape
        if groups < 1 or c != c_of_w * groups or o % groups:
            raise Error("E0401", f"{c} channels in {groups} groups do not fit weights {list(w.shape)}")
        shape = (n, *window_counts((h, width), windows((kh, kw), strides, pads, dilations)), o)
        require_broadcastable(bias, shape)
        return shape


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
    strides = prop_def(INTS)
    pads = prop_def(INTS)
    output_padding = prop_def(INTS)
    dilations = prop_def(INTS)
    groups = prop_def(INT)
    y = result_def(TILE)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    @classmethod
    def infer(
        cls,
        x: Tile,
        w: Tile,
        bias: Tile | None = None,
        *,
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        output_padding: tuple[int, ...],
        dilations: tuple[int, ...],
        groups: int,
    ) -> tuple[int, ...]:
        _require_images(x, w)
        n, h, width, c = x.shape
        kh, kw, depth, c_of_w = w.shape
        if groups < 1 or c != c_of_w or c % groups:
            raise Error("E0401", f"{c} channels in {groups} groups do not fit weights {list(w.shape)}")
        sizes = transposed_counts((h, width), windows((kh, kw), strides, pads, dilations), output_padding)
        shape = (n, *sizes, depth * groups)
        require_broadcastable(bias, shape)
        return shape


def _require_images(x: Tile, w: Tile) -> None:
    if len(x.shape) != 4 or len(w.shape) != 4:
        raise Error("E0401", f"a convolution needs operands of rank 4, not {list(x.shape)} and {list(w.shape)}")
