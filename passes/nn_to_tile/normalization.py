"""Lowering of ops that compute on rows, softmax and normalizations: the tile ops run along the last dimension."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.core.shapes import axis_in
from ttc.dialects.nn.base import NNOp
from ttc.dialects.tile.base import twin
from ttc.dialects.tile.facts import fact_of
from ttc.dialects.tile.shape import ReshapeOp, TransposeOp
from ttc.passes.declined import Declined
from ttc.passes.nn_to_tile.lowering import FunctionLowering


def lower_along_rows(op: NNOp, low: FunctionLowering) -> SSAValue:
    """Lower an op with an axis to the tile op of its name along the last dimension, between reshapes or transposes if it has another."""
    mnemonic = op.name.removeprefix("nn.")
    kind = twin(mnemonic)
    x, *weights = op.operands[0], *op.named_operands()[1:]
    shape = spec_of(x.type).shape
    axis, attrs = axis_in(op.plain_attrs()["axis"], len(shape)), {**op.plain_attrs(), "axis": -1}
    if axis == len(shape) - 1:
        return low.emit(kind, low.tile(x), *(None if w is None else low.tile(w) for w in weights), **attrs)
    if not fact_of(mnemonic).trailing:
        swapped = list(range(len(shape)))
        swapped[axis], swapped[-1] = len(shape) - 1, axis
        turned = low.emit(TransposeOp, low.tile(x, 1), perm=tuple(swapped))
        return low.emit(TransposeOp, low.emit(kind, turned, **attrs), perm=tuple(swapped))
    if any(w is not None and spec_of(w.type).shape != shape[axis:] for w in weights):
        raise Declined("scale or bias does not have the shape of what is normalized")
    size = prod(shape[axis:])
    rows = low.emit(ReshapeOp, low.tile(x), shape=(*shape[:axis], size))
    flat = [None if w is None else low.emit(ReshapeOp, low.tile(w), shape=(size,)) for w in weights]
    return low.emit(ReshapeOp, low.emit(kind, rows, *flat, **attrs), shape=shape, fold=low.fold(op.results[0]))
