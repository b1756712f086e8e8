"""Reductions."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from ttc.dialects.core.attributes import BOOL, INTS, STR
from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.nn.base import axes_in
from ttc.dialects.tile.base import TILE, Tile, TileOp


@irdl_op_definition
class ReduceOp(TileOp):
    """Reduction over some dimensions.

    Args:    x: tile.  fn: sum, mean, max, min or prod.  axes: in [-rank, rank), each once.  keepdims: reduced dimensions stay, of size 1.
    Returns: y: tile without the reduced dimensions, or with size 1 there.
    Raises:  E0402 for another fn.  E0412 if an axis is outside the rank or named twice.
    """

    FUNCTIONS: ClassVar[tuple[str, ...]] = ("sum", "mean", "max", "min", "prod")

    name = "tile.reduce"
    x = operand_def(TILE)
    fn = prop_def(STR)
    axes = prop_def(INTS)
    keepdims = prop_def(BOOL)
    y = result_def(TILE)
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, x: Tile, *, fn: str, axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
        if fn not in cls.FUNCTIONS:
            raise Error("E0402", f"there is no reduction '{fn}'", hint=nearest(fn, cls.FUNCTIONS))
        reduced = axes_in(axes, len(x.shape))
        kept = [1 if i in reduced else d for i, d in enumerate(x.shape) if keepdims or i not in reduced]
        return tuple(kept)
