"""What a rule that expands a composite works with: it builds the ops that take the composite's place.

A rule in `EXPANSIONS` takes the op and an `Expansion`.  It returns the value that replaces the op's result, of its
type, or raises Declined, and the op runs on the host.  It may leave composites that other rules expand in their turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from ttc.dialects.core.formats import FORMATS
from ttc.dialects.core.ir.attributes import LiteralAttr
from ttc.dialects.core.ir.leaves import ConstantOp, LeafOp
from ttc.dialects.core.shapes import broadcast_shapes
from ttc.dialects.tile.base import Tile, TileOp, tile_of, tile_type
from ttc.dialects.tile.eltwise import CastOp, MapOp
from ttc.dialects.tile.linear import MatmulOp
from ttc.dialects.tile.shape import BroadcastOp, RelayoutOp, ReshapeOp, TransposeOp
from ttc.dialects.tile.sparse import SparseMatmulOp
from ttc.passes.base import Rewriter, Unit
from ttc.passes.tile.expand.selection import Selection, along

Rule: TypeAlias = "Callable[[Any, Expansion], SSAValue]"


class Expansion:
    """Builds ops before the one that they replace, at its location."""

    def __init__(self, op: TileOp, unit: Unit, rewriter: Rewriter) -> None:
        self.op = op
        self.unit = unit
        self.rewriter = rewriter
        self.location = op.location

    # ---- types -------------------------------------------------------------------------------------------------------------------

    @property
    def result(self) -> Tile:
        """The type of the result to replace."""
        return tile_of(self.op.results[0])

    def exact(self, format_: str) -> str:
        """Return the format for intermediates of floating-point computations that end in a format: Float32 where the target has it."""
        return "Float32" if "Float32" in self.unit.target.formats and FORMATS[format_].is_float else format_

    # ---- ops ---------------------------------------------------------------------------------------------------------------------

    def emit(self, kind: type[TileOp], *operands: SSAValue | None, **attrs: Any) -> SSAValue:
        """Insert an op; returns its result."""
        return self.rewriter.insert(self.op, kind.build(*operands, location=self.location, **attrs)).results[0]

    def map(self, fn: str, *xs: SSAValue | float, format: str | None = None, **values: Any) -> SSAValue:
        """Return fn of tiles and numbers, in a format (default: Float32 where the tiles are of floating point and the target has it)."""
        first = tile_of(next(x for x in xs if isinstance(x, SSAValue)))
        format = format or self.exact(first.format)
        operands = [x if isinstance(x, SSAValue) else self.number(x, format) for x in xs]
        tiles = [tile_of(x) for x in operands]
        shape = broadcast_shapes(*(t.shape for t in tiles))
        fold = next((t.fold for t in tiles if t.shape == shape), self.result.fold)
        names, found = (tuple(values), tuple(values.values())) if values else (None, None)
        return self.emit(MapOp, *operands, format=format, fold=fold, fn=fn, names=names, values=found)

    def number(self, value: float, format_: str) -> SSAValue:
        """Return a literal scalar, in Float32 where a narrower format of floating point is given and the target has it."""
        format_ = self.exact(format_)
        array = np.array(value, FORMATS[format_].compute)
        type_ = tile_type(Tile((), format_, self.unit.target.tile))
        return self.rewriter.insert(self.op, ConstantOp.make((), {"value": LiteralAttr.of(array)}, (type_,), self.location)).result

    def ones(self, shape: Sequence[int], format_: str, value: float = 1.0) -> SSAValue:
        """Return a matrix of ones, or of another number: one tile, broadcast."""
        return self.emit(BroadcastOp, self.number(value, format_), shape=tuple(shape), fold=1)

    def reshape(self, x: SSAValue, shape: Sequence[int], fold: int = 1) -> SSAValue:
        """Return x in another shape and fold; x itself if nothing changes."""
        tile = tile_of(x)
        wanted = tile.with_(fold=fold).shaped(tuple(shape))
        if tile == wanted:
            return x
        if tile.shape == wanted.shape:
            return self.emit(RelayoutOp, x, fold=wanted.fold)
        return self.emit(ReshapeOp, x, shape=wanted.shape, fold=wanted.fold)

    def move(self, x: SSAValue, shape: Sequence[int], fold: int) -> SSAValue:
        """Return x with its rows in other tiles, by a sparse matmul."""
        rows = (prod(shape[:-1]),)
        return self.emit(SparseMatmulOp, x, shape=tuple(shape), fold=fold, **along(rows, rows).attrs())

    def matrices(self, x: SSAValue) -> SSAValue:
        """Return x as [t, rows, columns]: a view."""
        return self.reshape(x, tile_of(x).matrix())

    def swap(self, x: SSAValue) -> SSAValue:
        """Return the last two dimensions exchanged, in fold 1: a view."""
        rank = len(tile_of(x).shape)
        return self.emit(TransposeOp, x, perm=(*range(rank - 2), rank - 1, rank - 2), fold=1)

    def select(self, x: SSAValue, selection: Selection, shape: Sequence[int], fold: int = 1) -> SSAValue:
        """Return rows of x, by a sparse matmul; a reshape where all rows stay in their order."""
        if selection.is_identity and prod(shape[:-1]) == prod(selection.source):
            return self.reshape(x, shape, fold)
        return self.emit(SparseMatmulOp, x, shape=tuple(shape), fold=fold, **selection.attrs())

    def matmul(self, a: SSAValue, b: SSAValue, bias: SSAValue | None = None, *, fold: int = 1, **attrs: Any) -> SSAValue:
        """Return a @ b, in Float32 where the target has it unless a format is given."""
        format_ = attrs.pop("format", None) or self.exact(tile_of(a).format)
        given = {"transpose_a": False, "transpose_b": False} | attrs
        return self.emit(MatmulOp, a, b, bias, format=format_, fold=fold, **given)

    def fit(self, x: SSAValue) -> SSAValue:
        """Return x in the type of the result to replace: shape, fold, and format."""
        wanted = self.result
        x = self.reshape(x, wanted.shape, wanted.fold)
        if tile_of(x).format == wanted.format:
            return x
        return self.emit(CastOp, x, format=wanted.format)

    # ---- values ------------------------------------------------------------------------------------------------------------------

    def literal(self, x: SSAValue) -> float | None:
        """Return the number that a literal of one element holds."""
        owner = x.owner
        if not isinstance(owner, ConstantOp) or not isinstance(owner.value, LiteralAttr) or owner.value.spec.elements != 1:
            return None
        return owner.value.array.item()

    def in_fold(self, x: SSAValue, fold: int) -> SSAValue:
        """Return x in another fold: a weight is stored in it."""
        leaf, tile = x.owner, tile_of(x)
        if not isinstance(leaf, LeafOp) or tile.fold == fold:
            return self.reshape(x, tile.shape, fold)
        new = type(leaf).make((), leaf.plain_attrs(), (tile_type(tile.with_(fold=fold)),), leaf.location)
        new.result.name_hint = x.name_hint
        return self.rewriter.insert(self.op, new).result
