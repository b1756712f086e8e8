"""Softmax and its logarithm as ops of tile."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from ttc.dialects.tile.base import TILE, TileOp


class _Softmax(TileOp):
    x = operand_def(TILE)
    y = result_def(TILE)
    traits = traits_def(Pure())


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
