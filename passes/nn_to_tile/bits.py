"""Lowering of ops on bits: elementwise, where bits leave at the width that the op says."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.nn.bits import ShiftLeftOp
from ttc.passes.nn_to_tile import TO_TILE
from ttc.passes.nn_to_tile.binary import lower_elementwise
from ttc.passes.nn_to_tile.lowering import FunctionLowering
from ttc.passes.nn_to_tile.quantization import require_own_range


@TO_TILE.rule("shift_left")
def lower_shift_left(op: ShiftLeftOp, low: FunctionLowering) -> SSAValue:
    """Lower a shift to tile.map, if the target holds the integers in their own width."""
    require_own_range(op.y, low)
    return lower_elementwise(op, low)
