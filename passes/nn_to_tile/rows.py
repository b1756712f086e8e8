"""Lowering to tile ops of the same name and attributes, which only targets in row layout have kernels for."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ttc.dialects.nn.base import NNOp
from ttc.dialects.tile.base import TileOp
from ttc.passes.nn_to_tile import TO_TILE
from ttc.passes.nn_to_tile.lowering import Lowering


def in_rows(op: NNOp, kind: type[TileOp], low: Lowering) -> Sequence[SSAValue]:
    """The results of the tile op of the op's own attributes, which only targets in row layout have a kernel for."""
    low.require_rows()
    operands = [None if x is None else low.tile(x) for x in op.named_operands()]
    return low.emit_all(kind, *operands, like=op.results[0], **op.plain_attrs())


def same_in_rows(kind: type[TileOp]) -> None:
    """Register that the nn op of a tile op's name becomes this, with the same attributes; see `in_rows`."""
    TO_TILE.add(kind.name.removeprefix("tile."), lambda op, low: in_rows(op, kind, low))
