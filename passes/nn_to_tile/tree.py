"""Lowering of ensembles of decision trees."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.nn.tree import TreeEnsembleOp
from ttc.dialects.tile import tree as tile
from ttc.passes.nn_to_tile.lowering import Lowering, in_rows


def lower_tree_ensemble(op: TreeEnsembleOp, low: Lowering) -> SSAValue:
    """Lower nn.tree_ensemble to tile.tree_ensemble, in row layout."""
    return in_rows(op, tile.TreeEnsembleOp, low)
