"""Expansion of softmax and its logarithm."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.core.shapes import axis_in
from ttc.dialects.tile.base import TileOp, tile_of
from ttc.passes.tile.expand import EXPANSIONS
from ttc.passes.tile.expand.expansion import Expansion
from ttc.passes.tile.expand.reduce import reduced


@EXPANSIONS.rule("softmax")
def expand_softmax(op: TileOp, to: Expansion) -> SSAValue:
    """exp(x - max x) times the reciprocal of its sum."""
    lowered, axis = _lowered(op, to)
    powers = to.map("exp", lowered)
    total = reduced(powers, "sum", (axis,), to)
    return to.map("mul", powers, to.map("reciprocal", total), format=to.result.format)


@EXPANSIONS.rule("log_softmax")
def expand_log_softmax(op: TileOp, to: Expansion) -> SSAValue:
    """x - max x less the logarithm of the sum of its exponentials."""
    lowered, axis = _lowered(op, to)
    total = reduced(to.map("exp", lowered), "sum", (axis,), to)
    return to.map("sub", lowered, to.map("log", total), format=to.result.format)


def _lowered(op: TileOp, to: Expansion) -> tuple[SSAValue, int]:
    """Return x - max x along the axis, and the axis from the front."""
    (x,) = op.operands
    axis = axis_in(op.plain_attrs()["axis"], len(tile_of(x).shape))
    return to.map("sub", x, reduced(x, "max", (axis,), to)), axis
