"""Lowering of ops that read images at computed positions."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.nn.sampling import DeformConvOp, GridSampleOp, RoiAlignOp
from ttc.dialects.tile import sampling as tile
from ttc.passes.nn_to_tile.lowering import Lowering, in_rows


def lower_grid_sample(op: GridSampleOp, low: Lowering) -> SSAValue:
    """Lower nn.grid_sample to tile.grid_sample, in row layout."""
    return in_rows(op, tile.GridSampleOp, low)


def lower_roi_align(op: RoiAlignOp, low: Lowering) -> SSAValue:
    """Lower nn.roi_align to tile.roi_align, in row layout."""
    return in_rows(op, tile.RoiAlignOp, low)


def lower_deform_conv(op: DeformConvOp, low: Lowering) -> SSAValue:
    """Lower nn.deform_conv to tile.deform_conv, in row layout."""
    return in_rows(op, tile.DeformConvOp, low)
