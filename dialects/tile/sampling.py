"""Ops that read images, channels first, at computed positions."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def, traits_def
from xdsl.traits import Pure

from ttc.dialects.tile.base import TILE, SharedOp


@irdl_op_definition
class GridSampleOp(SharedOp):
    """x read at positions of a grid: y[n, c, o..] = x[n, c, at grid[n, o.., k - 1], ..., at grid[n, o.., 0]].

    Args:    x: tile[n, c, d.., k dimensions d].  grid: tile[n, o.., k]; -1 and 1 are the ends of a dimension: centres of its outer
             elements with align_corners, else their outer edges.  mode: nearest, linear or cubic.
             padding: what lies beyond: zeros, border or reflection.
    Returns: y: tile[n, c, o..].
    Raises:  E0401 if shapes do not suit or x is empty, E0402 for an unknown mode or padding.
    """

    name = "tile.grid_sample"
    x = operand_def(TILE)
    grid = operand_def(TILE)
    y = result_def(TILE)
    traits = traits_def(Pure())


@irdl_op_definition
class RoiAlignOp(SharedOp):
    """Regions of images as grids of one size: each of the bins of a region is the mean, or the largest, of points in it.

    Args:    x: tile[n, c, h, w].  rois: tile[r, 4]: left, top, right, bottom.  batch_indices: integer tile[r]: which image.
             size: bins along height and width.  samples: points a bin along each dimension; 0: as many as elements.
             scale: elements a unit of rois.  offset: subtracted from scaled rois; with 0 they are at least one element large.
             mode: avg or max.
    Returns: y: tile[r, c, size[0], size[1]].
    Raises:  E0401 if shapes do not suit, E0402 for an attribute out of range.  E0802 at run time for an image that is not there, or a
             region of too many points.
    """

    name = "tile.roi_align"
    x = operand_def(TILE)
    rois = operand_def(TILE)
    batch_indices = operand_def(TILE)
    y = result_def(TILE)
    traits = traits_def(Pure())


@irdl_op_definition
class DeformConvOp(SharedOp):
    """Convolution whose taps are moved by offsets: y[n, o, p] = sum over c, t of w[o, c, t] mask[n, t, p] x[n, c, tap t of p + offset].

    Args:    x: tile[n, c, h, w].  w: tile[o, c / groups, kh, kw].  offset: tile[n, 2 * offset_groups * kh * kw, oh, ow]: for each tap,
             row by row, its way down, then to the right.  mask: tile[n, offset_groups * kh * kw, oh, ow]; absent: 1.
             strides, dilations: down and to the right; pads: top, left, bottom, right.
             groups: of channels that are convolved apart; offset_groups: of channels with offsets of their own.
    Returns: y: tile[n, o, oh, ow].
    Raises:  E0401 if shapes do not suit each other, E0402 for an attribute out of range.
    """

    name = "tile.deform_conv"
    x = operand_def(TILE)
    w = operand_def(TILE)
    offset = operand_def(TILE)
    mask = opt_operand_def(TILE)
    y = result_def(TILE)
    traits = traits_def(Pure())
