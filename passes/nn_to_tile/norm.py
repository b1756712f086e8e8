"""Lowering of normalizations: the tile ops run along the last dimension."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.core.shapes import axis_in
from ttc.dialects.nn.norm import LayerNormOp, RmsNormOp
from ttc.dialects.tile.base import twin
from ttc.dialects.tile.shape import ReshapeOp
from ttc.passes.declined import Declined
from ttc.passes.nn_to_tile import TO_TILE
from ttc.passes.nn_to_tile.lowering import Lowering


@TO_TILE.rule("layer_norm", "rms_norm")
def lower_norm(op: LayerNormOp | RmsNormOp, low: Lowering) -> SSAValue:
    """The tile op runs along the last dimension, between reshapes if it normalizes several."""
    kind = twin(op.name.removeprefix("nn."))
    x, weights = op.operands[0], op.named_operands()[1:]
    shape = spec_of(x.type).shape
    attrs = op.plain_attrs()
    axis = axis_in(attrs["axis"], len(shape))
    attrs["axis"] = -1
    if axis == len(shape) - 1:
        return low.emit(kind, low.tile(x), *(None if w is None else low.tile(w) for w in weights), **attrs)
    if any(w is not None and spec_of(w.type).shape != shape[axis:] for w in weights):
        raise Declined("scale or bias does not have the shape of what is normalized")
    size = prod(shape[axis:])
    rows = low.emit(ReshapeOp, low.tile(x), shape=(*shape[:axis], size))
    flat = [None if w is None else low.emit(ReshapeOp, low.tile(w), shape=(size,)) for w in weights]
    return low.emit(ReshapeOp, low.emit(kind, rows, *flat, **attrs), shape=shape, fold=low.fold(op.y))
