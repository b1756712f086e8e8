"""Lowering of ops that write where an index tensor says."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.nn.scatter import ScatterElementsOp, ScatterNdOp
from ttc.dialects.tile import scatter as tile
from ttc.passes.nn_to_tile.lowering import Lowering, in_rows


def lower_scatter_elements(op: ScatterElementsOp, low: Lowering) -> SSAValue:
    """Lower nn.scatter_elements to tile.scatter_elements, in row layout."""
    return in_rows(op, tile.ScatterElementsOp, low)


def lower_scatter_nd(op: ScatterNdOp, low: Lowering) -> SSAValue:
    """Lower nn.scatter_nd to tile.scatter_nd, in row layout."""
    return in_rows(op, tile.ScatterNdOp, low)
