"""Lowering of probabilities of classes from those of pairs of them."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.nn.coupling import CoupleProbabilitiesOp
from ttc.dialects.tile import coupling as tile
from ttc.passes.nn_to_tile.lowering import Lowering, in_rows


def lower_couple_probabilities(op: CoupleProbabilitiesOp, low: Lowering) -> SSAValue:
    """tile.couple_probabilities."""
    return in_rows(op, tile.CoupleProbabilitiesOp, low)
