"""Lowering of probabilities of classes from those of pairs of them."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.nn.coupling import CoupleProbabilitiesOp
from ttc.dialects.tile import coupling as tile
from ttc.passes.nn_to_tile.lowering import Lowering, in_rows


def lower_couple_probabilities(op: CoupleProbabilitiesOp, low: Lowering) -> SSAValue:
    """Lower nn.couple_probabilities to tile.couple_probabilities, in row layout."""
    return in_rows(op, tile.CoupleProbabilitiesOp, low)
