"""Lowering of rotary position embedding."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.nn.rotary import RotaryEmbeddingOp
from ttc.dialects.tile.base import tile_of
from ttc.dialects.tile.eltwise import MapOp
from ttc.dialects.tile.shape import ConcatOp, ReshapeOp
from ttc.passes.nn_to_tile import TO_TILE
from ttc.passes.nn_to_tile.lowering import FunctionLowering
from ttc.passes.nn_to_tile.shape import take


@TO_TILE.rule("rotary_embedding")
def lower_rotary_embedding(op: RotaryEmbeddingOp, low: FunctionLowering) -> SSAValue:
    """Lower a rotary embedding to x * cos + rotated * sin in tile.map; what is rotated is made by slices and a concat."""
    x = low.tile(op.x)
    rotated = _interleaved(x, low) if op.plain_attrs()["interleaved"] else _rotated(x, low)
    cos, sin = (low.tile(v, tile_of(x).fold if spec_of(v.type).shape == tile_of(x).shape else None) for v in (op.cos, op.sin))
    return _map(low, "add", _map(low, "mul", x, cos), _map(low, "mul", rotated, sin))


def _rotated(x: SSAValue, low: FunctionLowering) -> SSAValue:
    """(-second half, first half) of the last dimension."""
    axis = len(tile_of(x).shape) - 1
    half = tile_of(x).shape[-1] // 2
    first, second = take(x, axis, 0, half, low), take(x, axis, half, half, low)
    return low.emit(ConcatOp, _map(low, "neg", second), first, axis=axis)


def _interleaved(x: SSAValue, low: FunctionLowering) -> SSAValue:
    """Return the rotation of neighbouring elements, which a reshape makes a dimension of their own."""
    shape, fold = tile_of(x).shape, tile_of(x).fold
    pairs = low.emit(ReshapeOp, x, shape=(*shape[:-1], shape[-1] // 2, 2), fold=fold)
    return low.emit(ReshapeOp, _rotated(pairs, low), shape=shape, fold=fold)


def _map(low: FunctionLowering, fn: str, *operands: SSAValue) -> SSAValue:
    return low.emit(MapOp, *operands, fn=fn)
