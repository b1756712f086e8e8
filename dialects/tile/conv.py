"""Convolutions over channels-last images."""

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

from ttc.dialects.core.attributes import FLOATS, INT, INTS, STR
from ttc.dialects.core.errors import Error
from ttc.dialects.tile.base import TILE, Tile, TileOp, require_broadcastable


def window_sizes(
    size: tuple[int, ...],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    dilations: tuple[int, ...],
    *,
    ceil_mode: bool = False,
) -> tuple[int, int]:
    """Height and width of what a window sliding over an image gives.

    Args:
        size, kernel, strides, dilations: height and width, in elements.
        pads: top, left, bottom, right.
        ceil_mode: a last window that starts inside the padded image but ends outside counts.

    Raises E0402 for settings out of range and E0401 if the window does not fit.
    """
    if (len(size), len(kernel), len(strides), len(pads), len(dilations)) != (2, 2, 2, 4, 2):
        raise Error("E0402", "a window over an image has two sizes, strides and dilations and four pads")
    if min(*kernel, *strides, *dilations) < 1 or min(pads) < 0:
        raise Error(
            "E0402", f"kernel {list(kernel)}, strides {list(strides)}, dilations {list(dilations)} or pads {list(pads)} out of range"
        )
    found: list[int] = []
    for axis in (0, 1):
        room = size[axis] + pads[axis] + pads[axis + 2] - dilations[axis] * (kernel[axis] - 1) - 1
        if room < 0:
            raise Error("E0401", f"a window of {list(kernel)} does not fit an image of {list(size)} padded by {list(pads)}")
        steps = -(-room // strides[axis]) if ceil_mode else room // strides[axis]
        if ceil_mode and steps * strides[axis] >= size[axis] + pads[axis]:
            steps -= 1
        found.append(steps + 1)
    return found[0], found[1]


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
        shape = (n, *window_sizes((h, width), (kh, kw), strides, pads, dilations), o)
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
        if (len(strides), len(pads), len(output_padding), len(dilations)) != (2, 4, 2, 2):
            raise Error("E0402", "a transposed convolution has two strides, dilations and output paddings and four pads")
        if groups < 1 or x.shape[3] != w.shape[3] or x.shape[3] % groups:
            raise Error("E0401", f"{x.shape[3]} channels in {groups} groups do not fit weights {list(w.shape)}")
        sizes = tuple(
            (x.shape[1 + a] - 1) * strides[a] + dilations[a] * (w.shape[a] - 1) + 1 + output_padding[a] - pads[a] - pads[a + 2]
            for a in (0, 1)
        )
        if min(*strides, *dilations) < 1 or min(sizes) < 1:
            raise Error("E0402", f"strides {list(strides)}, dilations {list(dilations)} or pads {list(pads)} out of range")
        shape = (x.shape[0], *sizes, w.shape[2] * groups)
        require_broadcastable(bias, shape)
        return shape


def _require_images(x: Tile, w: Tile) -> None:
    if len(x.shape) != 4 or len(w.shape) != 4:
        raise Error("E0401", f"a convolution needs operands of rank 4, not {list(x.shape)} and {list(w.shape)}")
