"""Ops that only rearrange elements.  Those of role VIEW can be tile manipulations that a consumer reads through."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition, operand_def, result_def, var_operand_def

from ttc.dialects.tile.base import TILE, Tile, TileOp, tile_of
from ttc.dialects.tile.facts import Role, fact_of


class ViewOp(TileOp):
    """An op of one operand that only rearranges its elements."""

    x = operand_def(TILE)
    y = result_def(TILE)

    def is_view(self) -> bool:
        """Whether this instance moves no element: in row layout other strides say it all, in tiles whole tiles change their order."""
        x, y = tile_of(self.x), tile_of(self.y)
        return fact_of(self.name).role is Role.VIEW and (x.tile is None or self.keeps_tiles(x, y, x.tile))

    def keeps_tiles(self, x: Tile, y: Tile, tile: tuple[int, int]) -> bool:
        """Return whether the op takes whole tiles to whole tiles (transposed within, or one row or column of them broadcast)."""
        return keeps_rows(x, y)


def is_view(op: Operation) -> bool:
    """Return whether an op is a tile manipulation that a consumer can read through, instead of an op that moves data."""
    return isinstance(op, ViewOp) and op.is_view()


def keeps_rows(x: Tile, y: Tile) -> bool:
    """Return whether two tiles of the same elements in row-major order differ at most in which whole tiles form a matrix."""
    _, x_rows, x_columns = x.matrix()
    _, y_rows, y_columns = y.matrix()
    aligned = x_rows == y_rows or (x.tile is not None and x_rows % x.tile[0] == 0 and y_rows % x.tile[0] == 0)
    return x_columns == y_columns and x.elements == y.elements and aligned


@irdl_op_definition
class ReshapeOp(ViewOp):
    """The elements of x, in row-major order, in another shape.

    Args:    x: tile.  shape: of the result, in elements.
    Returns: y: tile of that shape.
    Raises:  E0401 if the shape holds another number of elements.
    """

    name = "tile.reshape"


@irdl_op_definition
class TransposeOp(ViewOp):
    """Dimensions in another order: dimension i of the result is dimension perm[i] of x.

    Args:    x: tile.  perm: a permutation of 0..rank-1.
    Returns: y: tile.
    Raises:  E0402 if perm is no permutation.
    """

    name = "tile.transpose"

    def keeps_tiles(self, x: Tile, y: Tile, tile: tuple[int, int]) -> bool:
        perm: tuple[int, ...] = self.plain_attrs()["perm"]
        moved = [p for p in perm if x.shape[p] > 1]
        if moved == sorted(moved) and keeps_rows(x, y):
            return True
        swapped = (*range(len(perm) - 2), len(perm) - 1, len(perm) - 2)
        return perm == swapped and x.matrix()[1] == x.shape[-2] and y.matrix()[1] == y.shape[-2]


@irdl_op_definition
class HsliceOp(ViewOp):
    """Cut the columns into n parts and stack them along a new dimension: y[..., i, r, c] = x[..., r, i * width / n + c].

    Args:    x: tile[..., rows, width].  n: number of parts.
    Returns: y: tile[..., n, rows, width / n].
    Raises:  E0402 if n does not divide the width.
    """

    name = "tile.hslice"

    def keeps_tiles(self, x: Tile, y: Tile, tile: tuple[int, int]) -> bool:
        return _same_stack(stack=y, side=x, tile=tile)


@irdl_op_definition
class HstackOp(ViewOp):
    """The inverse of hslice, the last but two dimension laid side by side: y[..., r, i * width + c] = x[..., i, r, c].

    Args:    x: tile[..., n, rows, width].  n: number of parts.
    Returns: y: tile[..., rows, n * width].
    Raises:  E0402 if n is not the size of that dimension.
    """

    name = "tile.hstack"

    def keeps_tiles(self, x: Tile, y: Tile, tile: tuple[int, int]) -> bool:
        return _same_stack(stack=x, side=y, tile=tile)


@irdl_op_definition
class BroadcastOp(ViewOp):
    """Dimensions of size 1 repeated, leading dimensions added, as numpy broadcasts.

    Args:    x: tile.  shape: of the result.
    Returns: y: tile of that shape.
    Raises:  E0401 if x does not broadcast to the shape.
    """

    name = "tile.broadcast"

    def keeps_tiles(self, x: Tile, y: Tile, tile: tuple[int, int]) -> bool:
        split = len(y.shape) - 1 - min(y.fold, len(y.shape) - 1)
        old = (*([1] * (len(y.shape) - len(x.shape))), *x.shape)
        lead = list(zip(old, y.shape, strict=True))
        outer, rows = lead[:split], lead[split:-1]
        return _repeats_whole(outer, 1) and (_repeats_whole(rows, tile[0]) or all(a == 1 for a, _ in rows))


@irdl_op_definition
class SliceOp(ViewOp):
    """A box of elements: y[i, ...] = x[starts[0] + i * steps[0], ...].

    Args:    x: tile.  starts, sizes, steps: one a dimension; sizes are the result's; steps may be negative.
    Returns: y: tile of shape `sizes`.
    Raises:  E0402 if the box does not lie inside x.
    """

    name = "tile.slice"

    def keeps_tiles(self, x: Tile, y: Tile, tile: tuple[int, int]) -> bool:
        return x.shape == y.shape and min(self.plain_attrs()["steps"], default=1) > 0 and keeps_rows(x, y)


@irdl_op_definition
class RelayoutOp(ViewOp):
    """The values of x with another fold of dimensions into tile rows.

    Args:    x: tile of any shape.
    Returns: y: tile of the same shape and format.
    """

    name = "tile.relayout"


@irdl_op_definition
class PadOp(ViewOp):
    """Elements of one value around x.

    Args:    x: tile.  before, after: elements added at each end of each dimension.  value: of the elements added.
    Returns: y: tile.
    Raises:  E0402 for negative or missing amounts.
    """

    name = "tile.pad"


@irdl_op_definition
class ConcatOp(TileOp):
    """Tiles laid one after another along an axis.

    Args:    xs: tiles of the same shape except along the axis.  axis: in [-rank, rank).
    Returns: y: tile.
    Raises:  E0401 if the shapes do not fit.  E0412 if axis is outside the rank.
    """

    name = "tile.concat"
    xs = var_operand_def(TILE)
    y = result_def(TILE)


def _same_stack(stack: Tile, side: Tile, tile: tuple[int, int]) -> bool:
    """Return whether matrices that lie side by side in `side`, and one on another in `stack`, are made of the same whole tiles."""
    rows, side_rows = stack.matrix()[1], side.matrix()[1]
    aligned = rows == side_rows or (rows % tile[0] == 0 and side_rows % tile[0] == 0)
    return aligned and rows == stack.shape[-2] and stack.shape[-1] % tile[1] == 0


def _repeats_whole(dims: Sequence[tuple[int, int]], block: int) -> bool:
    """Return whether dimensions (before, after) repeat all they hold, in blocks of that many elements: the repeated ones come first."""
    first_kept = next((i for i, (before, after) in enumerate(dims) if before > 1), len(dims))
    repeated = any(before != after for before, after in dims)
    inner = prod(before for before, _ in dims)
    return all(before == after for before, after in dims[first_kept:]) and (not repeated or inner % block == 0)
