"""Lowering of ops that read images at computed positions."""

from __future__ import annotations

from ttc.dialects.tile import sampling as tile
from ttc.passes.nn_to_tile.rows import same_in_rows

same_in_rows(tile.GridSampleOp)
same_in_rows(tile.RoiAlignOp)
same_in_rows(tile.DeformConvOp)
