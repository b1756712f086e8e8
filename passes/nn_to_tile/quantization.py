"""Lowering of quantization: elementwise, where the target holds the integers in a format of their own range."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.core.formats import FORMATS
from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.nn.quantization import QuantizeOp
from ttc.passes.declined import Declined
from ttc.passes.nn_to_tile import TO_TILE
from ttc.passes.nn_to_tile.binary import lower_elementwise
from ttc.passes.nn_to_tile.lowering import FunctionLowering


@TO_TILE.rule("quantize")
def lower_quantize(op: QuantizeOp, low: FunctionLowering) -> SSAValue:
    """Lower quantization to tile.map, whose kernel saturates to the range of the format that holds the result."""
    require_own_range(op.y, low)
    return lower_elementwise(op, low)


def require_own_range(value: SSAValue, low: FunctionLowering) -> None:
    """Raises Declined if the target holds a value's integers in a wider or narrower format, which would overflow elsewhere."""
    dtype = spec_of(value.type).dtype
    name = low.format(dtype)
    if name is not None and FORMATS[name].storage != dtype:
        raise Declined(f"{name} has not the range of {dtype}")
