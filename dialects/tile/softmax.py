"""Softmax and its logarithm as ops of tile."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from ttc.dialects.core.ir.attributes import INT
from ttc.dialects.nn.base import axis_in
from ttc.dialects.tile.base import TILE, Tile, TileOp


class _Softmax(TileOp):
    x = operand_def(TILE)
    axis = prop_def(INT)
    y = result_def(TILE)
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, x: Tile, *, axis: int) -> tuple[int, ...]:
        axis_in(axis, len(x.shape))
        return x.shape


@irdl_op_definition
class SoftmaxOp(_Softmax):
    """Softmax along one axis: y[i] = exp(x[i] - max x) / sum exp(x - max x).

    Args:    x: floating-point tile.  axis: in [-rank, rank).
    Returns: y: tile of the shape of x.
    Raises:  E0412 if axis is outside the rank.
    """

    name = "tile.softmax"


@irdl_op_definition
class LogSoftmaxOp(_Softmax):
    """Logarithm of softmax along one axis: y[i] = x[i] - max x - log sum exp(x - max x).

    Args:    x: floating-point tile.  axis: in [-rank, rank).
    Returns: y: tile of the shape of x.
    Raises:  E0412 if axis is outside the rank.
    """

    name = "tile.log_softmax"
