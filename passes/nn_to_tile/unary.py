"""Lowering of elementwise ops of one operand that are not a function of the element alone."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.nn.unary import CastOp
from ttc.dialects.tile import eltwise as tile
from ttc.passes.nn_to_tile import TO_TILE
from ttc.passes.nn_to_tile.lowering import FunctionLowering

TO_TILE.add("identity", lambda op, low: low.tile(op.x))


@TO_TILE.rule("cast")
def lower_cast(op: CastOp, low: FunctionLowering) -> SSAValue:
    """Lower a cast to a tile op, or to nothing between dtypes that the target holds alike, and whose values are the same in both."""
    x = low.tile(op.x)
    old, new = spec_of(op.x.type).dtype, spec_of(op.y.type).dtype
    if low.format(old) == low.format(new) and np.can_cast(old, new, "safe"):
        return x
    return low.emit(tile.CastOp, x, like=op.y, to=str(new))
