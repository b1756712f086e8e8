"""The largest numbers of rows."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import BOOL, INT, STR
from ttc.dialects.tile.base import TILE, Tile, TileOp
from ttc.dialects.tile.kernels.topk import MAX_ROW


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
    k = prop_def(INT)
    sort = prop_def(STR)
    sorted_runs = prop_def(BOOL)
    cores = prop_def(INT)
    width = prop_def(INT)
    y = result_def(TILE)
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, values: Tile, indices: Tile, *, k: int, sort: str, sorted_runs: bool, cores: int, width: int) -> tuple[int, ...]:
        if values.shape != indices.shape or not values.shape or cores < 1 or values.shape[-1] % cores:
            raise Error("E0401", f"{list(values.shape)} and {list(indices.shape)} have no rows for {cores} cores")
        size = values.shape[-1] // cores
        runs = size // k if k > 0 else 0
        powers = k > 0 and k & (k - 1) == 0 and runs > 0 and runs & (runs - 1) == 0 and size == k * runs
        if sort not in ("max", "argmax") or not powers or width < k or size > MAX_ROW:
            raise Error("E0402", f"rows of {size} do not fall into runs of {k} by powers of two, or there is no order '{sort}'")
        return (*values.shape[:-1], cores * width)
