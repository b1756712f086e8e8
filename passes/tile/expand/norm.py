"""Normalizations: means are products with a column of 1/n."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ttc.dialects.core.shapes import axis_in
from ttc.dialects.tile.base import TileOp, tile_of
from ttc.passes.declined import Declined
from ttc.passes.tile.expand import EXPANSIONS
from ttc.passes.tile.expand.expansion import Expansion
from ttc.passes.tile.expand.reduce import reduced


@EXPANSIONS.rule("layer_norm")
def expand_layer_norm(op: TileOp, to: Expansion) -> SSAValue:
    """Less the mean, times the reciprocal root of the mean square, times scale, plus bias."""
    x = _rows(op, to)
    return _normalized(op, to.map("sub", x, _mean(x, to)), to)


EXPANSIONS.add("rms_norm", lambda op, to: _normalized(op, _rows(op, to), to))


def _rows(op: TileOp, to: Expansion) -> SSAValue:
    """What is normalized together as the last dimension; at least rank 2."""
    x = op.operands[0]
    shape = tile_of(x).shape
    axis = axis_in(op.plain_attrs()["axis"], len(shape))
    if axis == len(shape) - 1:
        return x if axis else to.reshape(x, (1, *shape))
    return to.reshape(x, (*shape[:axis], prod(shape[axis:])) if axis else (1, prod(shape)))


def _weights(op: TileOp, w: SSAValue, size: int, to: Expansion) -> SSAValue:
    shape = tile_of(op.operands[0]).shape
    axis = axis_in(op.plain_attrs()["axis"], len(shape))
    if axis == len(shape) - 1:
        return w
    if tile_of(w).shape != shape[axis:]:
        raise Declined("scale or bias does not have the shape of what is normalized")
    return to.reshape(w, (size,))


def _mean(x: SSAValue, to: Expansion) -> SSAValue:
    return reduced(x, "mean", (len(tile_of(x).shape) - 1,), to)


def _normalized(op: TileOp, x: SSAValue, to: Expansion) -> SSAValue:
    size = tile_of(x).shape[-1]
    variance = to.map("add", _mean(to.map("mul", x, x), to), float(op.plain_attrs()["eps"]))
    y = to.map("mul", x, to.map("reciprocal", to.map("sqrt", variance)))
    for fn, weights in zip(("mul", "add"), op.named_operands()[1:], strict=False):
        if weights is not None:
            y = to.map(fn, y, _weights(op, weights, size, to))
    return to.fit(y)
