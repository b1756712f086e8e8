"""The largest numbers of rows."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, result_def

from ttc.dialects.tile.base import TILE, TileOp


@irdl_op_definition
class TopkOp(TileOp):
    """The k largest numbers of every row, largest first, or what `indices` has in their places; among equals, as the network leaves them.

    Each core has its own columns and finds its own k, which lie in `width` columns beside zeros.  The network sorts runs of k in turn
    downward and upward, then merges them two by two and keeps the larger half.

    Args:    values: tile[..., cores * size].  indices: tile of that shape.  k: a power of two that divides size, size / k one too.
             sort: `max` gives values, `argmax` what indices has.  sorted_runs: whether runs of k are sorted already (k up to 16), or
             bitonic.  cores: how many share a row.  width: columns of a core's result, at least k.
    Returns: y: tile[..., cores * width].
    Raises:  E0401 if the operands differ in shape or do not divide among cores.  E0402 for other k and sort.
    Source:  op `topk` of Buda netlists.
    """

    name = "tile.topk"
    values = operand_def(TILE)
    indices = operand_def(TILE)
    y = result_def(TILE)
