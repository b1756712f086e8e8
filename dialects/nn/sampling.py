"""Ops that read images at computed positions."""

from __future__ import annotations

from typing import Any

from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def

from ttc.dialects.core.ir.attributes import BOOL, FLOAT, INT, INTS, STR
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.nn.base import TENSOR, NNOp, require_float, same_dtype
from ttc.dialects.nn.index import require_indices
from ttc.dialects.nn.shapes import sampling as shapes


@irdl_op_definition
class GridSampleOp(NNOp):
    """x read at positions of a grid: y[n, c, o..] = x[n, c, at grid[n, o.., k - 1], ..., at grid[n, o.., 0]].

    Args:    x: tensor[n, c, d.., k dimensions d], floating point.  grid: tensor[n, o.., k], x's dtype; -1 and 1 are the ends of a
             dimension: centres of its outer elements with align_corners, else their outer edges.
             mode: nearest, linear or cubic.  padding: what lies beyond: zeros, border or reflection.
    Returns: y: tensor[n, c, o..], x's dtype.
    Raises:  E0401 if shapes do not suit or x is empty, E0402 for an unknown mode or padding, E0403 for integers or differing dtypes.
    Source:  ONNX GridSample-20; torch.nn.functional.grid_sample.
    """

    name = "nn.grid_sample"
    x = operand_def(TENSOR)
    grid = operand_def(TENSOR)
    mode = prop_def(STR)
    padding = prop_def(STR)
    align_corners = prop_def(BOOL)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, grid: Spec, *, mode: str, padding: str, align_corners: bool) -> Spec:
        dtype = same_dtype(require_float(x), grid)
        return Spec(shapes.grid_sample(x.shape, grid.shape, mode=mode, padding=padding, align_corners=align_corners), dtype)


@irdl_op_definition
class RoiAlignOp(NNOp):
    """Regions of images as grids of one size: each of the bins of a region is the mean, or the largest, of points in it.

    A point is interpolated from its four neighbours; `max` takes the largest of their weighted values.  Points further than one element
    outside count as 0.

    Args:    x: tensor[n, c, h, w], floating point.  rois: tensor[r, 4], x's dtype: left, top, right, bottom.
             batch_indices: tensor[r], int32 or int64: which image.  size: bins along height and width.
             samples: points a bin along each dimension; 0: as many as elements.  scale: elements a unit of rois.
             offset: subtracted from scaled rois; with 0 they are at least one element large.  mode: avg or max.
    Returns: y: tensor[r, c, size[0], size[1]], x's dtype.
    Raises:  E0401 if shapes do not suit, E0402 for an attribute out of range, E0403 for other or differing dtypes.
    Source:  ONNX RoiAlign-22; torchvision.ops.roi_align.
    """

    name = "nn.roi_align"
    x = operand_def(TENSOR)
    rois = operand_def(TENSOR)
    batch_indices = operand_def(TENSOR)
    size = prop_def(INTS)
    samples = prop_def(INT)
    scale = prop_def(FLOAT)
    offset = prop_def(FLOAT)
    mode = prop_def(STR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, rois: Spec, batch_indices: Spec, **attrs: Any) -> Spec:
        dtype = same_dtype(require_float(x), rois)
        return Spec(shapes.roi_align(x.shape, rois.shape, require_indices(batch_indices).shape, **attrs), dtype)


@irdl_op_definition
class DeformConvOp(NNOp):
    """Convolution whose taps are moved by offsets: y[n, o, p] = sum over c, t of w[o, c, t] mask[n, t, p] x[n, c, tap t of p + offset].

    Between elements x is interpolated linearly, beyond its border it is 0.

    Args:    x: tensor[n, c, h, w], floating point.  w: tensor[o, c / groups, kh, kw].
             offset: tensor[n, 2 * offset_groups * kh * kw, oh, ow]: for each tap, row by row, its way down, then to the right.
             mask: tensor[n, offset_groups * kh * kw, oh, ow]; absent: 1.  All of x's dtype.
             strides, dilations: down and to the right; pads: top, left, bottom, right.
             groups: of channels that are convolved apart; offset_groups: of channels with offsets of their own.
    Returns: y: tensor[n, o, oh, ow], x's dtype.
    Raises:  E0401 if shapes do not suit each other, E0402 for an attribute out of range, E0403 for integers or differing dtypes.
    Source:  ONNX DeformConv-22 (bias: the importer adds it); torchvision.ops.deform_conv2d.
    """

    name = "nn.deform_conv"
    x = operand_def(TENSOR)
    w = operand_def(TENSOR)
    offset = operand_def(TENSOR)
    mask = opt_operand_def(TENSOR)
    strides = prop_def(INTS)
    dilations = prop_def(INTS)
    pads = prop_def(INTS)
    groups = prop_def(INT)
    offset_groups = prop_def(INT)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, w: Spec, offset: Spec, mask: Spec | None = None, **attrs: Any) -> Spec:
        dtype = same_dtype(require_float(x), w, offset, mask)
        return Spec(shapes.deform_conv(x.shape, w.shape, offset.shape, None if mask is None else mask.shape, **attrs), dtype)
