"""Probabilities of classes from those of pairs of them."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from ttc.dialects.tile.base import TILE, SharedOp


@irdl_op_definition
class CoupleProbabilitiesOp(SharedOp):
    """Probabilities p of classes that fit those of pairs best: the least sum over pairs i, j of (r_ji p_i - r_ij p_j)^2.

    Args:    r: tile[n, pairs]: that it is class i if it is i or j, for the pairs (0, 1), (0, 2), ..., (1, 2), ...  classes: their number.
    Returns: p: tile[n, classes].
    Raises:  E0401 if pairs are not those of the classes, E0402 for fewer than 2 classes or too many.
    """

    name = "tile.couple_probabilities"
    r = operand_def(TILE)
    p = result_def(TILE)
    traits = traits_def(Pure())
