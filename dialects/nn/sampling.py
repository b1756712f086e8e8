"""Ops that read images at computed positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import BOOL, FLOAT, INT, INTS, STR
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.core.kernels.resampling import MODES
from ttc.dialects.core.kernels.windows import windows
from ttc.dialects.nn.base import TENSOR, NNOp, require_float, require_rank, same_dtype
from ttc.dialects.nn.index import require_indices

PADDINGS = ("zeros", "border", "reflection")


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
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, x: Spec, grid: Spec, *, mode: str, padding: str, align_corners: bool) -> Spec:
        same_dtype(require_float(x), grid)
        for value, known in ((mode, MODES), (padding, PADDINGS)):
            if value not in known:
                raise Error("E0402", f"'{value}' is not one of {', '.join(known)}")
        require_rank(x, 3, 4, 5)
        if grid.rank < 2 or grid.shape[-1] != x.rank - 2 or grid.shape[0] != x.shape[0] or min(x.shape[2:]) < 1:
            raise Error("E0401", f"a grid {grid} has no positions in {x}")
        return Spec((*x.shape[:2], *grid.shape[1:-1]), x.dtype)

    @classmethod
    def batch(cls, carried: Sequence[bool], operands: Sequence[Spec | None], result: Spec, attrs: dict[str, Any], size: int) -> bool:
        return all(carried)


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
    traits = traits_def(Pure())

    @classmethod
    def infer(
        cls, x: Spec, rois: Spec, batch_indices: Spec, *, size: tuple[int, ...], samples: int, scale: float, offset: float, mode: str
    ) -> Spec:
        same_dtype(require_float(require_rank(x, 4)), require_rank(rois, 2))
        if rois.shape[1] != 4 or require_indices(batch_indices).shape != rois.shape[:1] or min(x.shape[2:]) < 1:
            raise Error("E0401", f"regions {rois} of images {batch_indices} do not fit {x}")
        if len(size) != 2 or min(size) < 1 or not 0 <= samples <= 1 << 10 or mode not in ("avg", "max"):
            raise Error("E0402", f"size {list(size)}, samples {samples} or mode '{mode}' is out of range")
        return Spec((rois.shape[0], x.shape[1], *size), x.dtype)


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
    traits = traits_def(Pure())

    @classmethod
    def infer(
        cls,
        x: Spec,
        w: Spec,
        offset: Spec,
        mask: Spec | None = None,
        *,
        strides: tuple[int, ...],
        dilations: tuple[int, ...],
        pads: tuple[int, ...],
        groups: int,
        offset_groups: int,
    ) -> Spec:
        same_dtype(require_float(require_rank(x, 4)), require_rank(w, 4), require_rank(offset, 4), mask)
        rows, columns = windows(w.shape[2:], strides, pads, dilations)
        if groups < 1 or offset_groups < 1:
            raise Error("E0402", f"{groups} groups or {offset_groups} groups of offsets")
        channels, filters, taps = x.shape[1], w.shape[0], w.shape[2] * w.shape[3]
        if channels != groups * w.shape[1] or filters % groups or channels % offset_groups:
            raise Error("E0401", f"weight {w} does not fit {x} in {groups} groups, or {offset_groups} groups of offsets do not")
        size = rows.count(x.shape[2]), columns.count(x.shape[3])
        if min(size) < 1 or min(x.shape) < 1:
            raise Error("E0401", f"no window fits {x}")
        for value, each in ((offset, 2), (mask, 1)):
            wanted = (x.shape[0], each * offset_groups * taps, *size)
            if value is not None and value.shape != wanted:
                raise Error("E0401", f"{value} is not of shape {list(wanted)}")
        return Spec((x.shape[0], filters, *size), x.dtype)

    @classmethod
    def batch(cls, carried: Sequence[bool], operands: Sequence[Spec | None], result: Spec, attrs: dict[str, Any], size: int) -> bool:
        return not carried[1] and all(c for i, c in enumerate(carried) if i != 1 and operands[i] is not None)
