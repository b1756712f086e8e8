"""Lowering of softmax: the tile op runs along the last dimension."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.core.shapes import axis_in
from ttc.dialects.nn.softmax import LogSoftmaxOp, SoftmaxOp
from ttc.dialects.tile.base import twin
from ttc.dialects.tile.shape import TransposeOp
from ttc.passes.nn_to_tile import TO_TILE
from ttc.passes.nn_to_tile.lowering import Lowering


@TO_TILE.rule("softmax", "log_softmax")
def lower_softmax(op: SoftmaxOp | LogSoftmaxOp, low: Lowering) -> SSAValue:
    """The tile op runs along the last dimension, between transposes if the axis is another."""
    kind = twin(op.name.removeprefix("nn."))
    rank = spec_of(op.x.type).rank
    axis = axis_in(op.plain_attrs()["axis"], rank)
    if axis == rank - 1:
        return low.emit(kind, low.tile(op.x), axis=-1)
    swapped = list(range(rank))
    swapped[axis], swapped[-1] = rank - 1, axis
    turned = low.emit(TransposeOp, low.tile(op.x, 1), perm=tuple(swapped))
    return low.emit(TransposeOp, low.emit(kind, turned, axis=-1), perm=tuple(swapped))
