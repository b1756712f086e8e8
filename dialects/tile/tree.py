"""Ensembles of decision trees as an op of tile."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def, traits_def
from xdsl.traits import Pure

from ttc.dialects.tile.base import TILE, SharedOp


@irdl_op_definition
class TreeEnsembleOp(SharedOp):
    """Decision trees: each leads a row to one of its leaves, and y[n, t] is the sum of their weights for target t.

    Args:    x: tile[n, f].  nodes: integer tile[m, 4]: feature, 1 where NaN takes the first branch (else 0), the branch where
             x[n, feature] <= split, and the other; a branch is the number of a node further on, or ~l, which is leaf l.
             splits: tile[m].  roots: integer tile[trees], each a branch.  weights: tile[leaves, k].
             targets: integer tile[leaves, k]: what each weight is for, or -1; absent: column t is for target t.
             aggregate: sum, min or max of the weights.  count: of targets.
    Returns: y: tile[n, count].
    Raises:  E0401 if shapes do not suit, E0402 for an unknown aggregate or a count out of range.  E0802 at run time for features,
             branches or targets that are not there, or branches that do not lead on.
    """

    name = "tile.tree_ensemble"
    x = operand_def(TILE)
    nodes = operand_def(TILE)
    splits = operand_def(TILE)
    roots = operand_def(TILE)
    weights = operand_def(TILE)
    targets = opt_operand_def(TILE)
    y = result_def(TILE)
    traits = traits_def(Pure())
