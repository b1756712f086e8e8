"""Ops that only rearrange elements.  Those marked VIEW can be tile manipulations that a consumer reads through."""

from __future__ import annotations

from math import prod
from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir import FLOAT, INT, INTS
from ttc.dialects.nn.base import axis_in
from ttc.dialects.tile.base import TILE, Tile, TileOp, require_broadcastable


class ViewOp(TileOp):
    """An op of one operand that may need no data moved: see `views.is_view`."""

    VIEW: ClassVar[bool] = True
    x = operand_def(TILE)
    y = result_def(TILE)
    traits = traits_def(Pure())


@irdl_op_definition
class ReshapeOp(ViewOp):
    """The same elements in row-major order, in another shape.

    Args:    x: tile.  shape: of the result, in elements.
    Returns: y: tile of that shape.
    Raises:  E0401 if the shape holds another number of elements.
    """

    name = "tile.reshape"
    shape = prop_def(INTS)

    @classmethod
    def infer(cls, x: Tile, *, shape: tuple[int, ...]) -> tuple[int, ...]:
        if min(shape, default=1) < 0 or prod(shape) != x.elements:
            raise Error("E0401", f"{list(x.shape)} cannot be reshaped to {list(shape)}")
        return shape


@irdl_op_definition
class TransposeOp(ViewOp):
    """Dimensions in another order: dimension i of the result is dimension perm[i] of x.

    Args:    x: tile.  perm: a permutation of 0..rank-1.
    Returns: y: tile.
    Raises:  E0402 if perm is no permutation.
    """

    name = "tile.transpose"
    perm = prop_def(INTS)

    @classmethod
    def infer(cls, x: Tile, *, perm: tuple[int, ...]) -> tuple[int, ...]:
        if sorted(perm) != list(range(len(x.shape))):
            raise Error("E0402", f"{list(perm)} is no permutation of the dimensions of {list(x.shape)}")
        return tuple(x.shape[p] for p in perm)


@irdl_op_definition
class HsliceOp(ViewOp):
    """Cut the columns into n parts and stack them along a new dimension: y[..., i, r, c] = x[..., r, i * width / n + c].

    Args:    x: tile[..., rows, width].  n: number of parts.
    Returns: y: tile[..., n, rows, width / n].
    Raises:  E0402 if n does not divide the width.
    """

    name = "tile.hslice"
    n = prop_def(INT)

    @classmethod
    def infer(cls, x: Tile, *, n: int) -> tuple[int, ...]:
        if len(x.shape) < 2 or n < 1 or x.shape[-1] % n:
            raise Error("E0402", f"the columns of {list(x.shape)} cannot be cut into {n} parts")
        *lead, rows, width = x.shape
        return (*lead, n, rows, width // n)


@irdl_op_definition
class HstackOp(ViewOp):
    """The inverse of hslice, the last but two dimension laid side by side: y[..., r, i * width + c] = x[..., i, r, c].

    Args:    x: tile[..., n, rows, width].  n: number of parts.
    Returns: y: tile[..., rows, n * width].
    Raises:  E0402 if n is not the size of that dimension.
    """

    name = "tile.hstack"
    n = prop_def(INT)

    @classmethod
    def infer(cls, x: Tile, *, n: int) -> tuple[int, ...]:
        if len(x.shape) < 3 or x.shape[-3] != n:
            raise Error("E0402", f"{list(x.shape)} is not a stack of {n} parts")
        *lead, _, rows, width = x.shape
        return (*lead, rows, n * width)


@irdl_op_definition
class BroadcastOp(ViewOp):
    """Dimensions of size 1 repeated, leading dimensions added, as numpy broadcasts.

    Args:    x: tile.  shape: of the result.
    Returns: y: tile of that shape.
    Raises:  E0401 if x does not broadcast to the shape.
    """

    name = "tile.broadcast"
    shape = prop_def(INTS)

    @classmethod
    def infer(cls, x: Tile, *, shape: tuple[int, ...]) -> tuple[int, ...]:
        require_broadcastable(x, shape)
        return shape


@irdl_op_definition
class SliceOp(ViewOp):
    """A box of elements: y[i, ...] = x[starts[0] + i * steps[0], ...].

    Args:    x: tile.  starts, sizes, steps: one a dimension; sizes are the result's; steps may be negative.
    Returns: y: tile of shape `sizes`.
    Raises:  E0402 if the box does not lie inside x.
    """

    name = "tile.slice"
    starts = prop_def(INTS)
    sizes = prop_def(INTS)
    steps = prop_def(INTS)

    @classmethod
    def infer(cls, x: Tile, *, starts: tuple[int, ...], sizes: tuple[int, ...], steps: tuple[int, ...]) -> tuple[int, ...]:
        if not len(x.shape) == len(starts) == len(sizes) == len(steps):
            raise Error("E0402", f"a slice of {list(x.shape)} needs one start, size and step a dimension")
        for dim, start, size, step in zip(x.shape, starts, sizes, steps, strict=True):
            last = start + (size - 1) * step
            if size < 0 or step == 0 or (size and not (0 <= start < dim and 0 <= last < dim)):
                raise Error("E0402", f"slice from {list(starts)} of {list(sizes)} by {list(steps)} leaves {list(x.shape)}")
        return sizes


@irdl_op_definition
class RelayoutOp(ViewOp):
    """The same values with another fold of dimensions into tile rows.

    Args:    x: tile of any shape.
    Returns: y: tile of the same shape and format.
    """

    name = "tile.relayout"

    @classmethod
    def infer(cls, x: Tile) -> tuple[int, ...]:
        return x.shape


@irdl_op_definition
class PadOp(ViewOp):
    """Elements of one value around x.

    Args:    x: tile.  before, after: elements added at each end of each dimension.  value: of the elements added.
    Returns: y: tile.
    Raises:  E0402 for negative or missing amounts.
    """

    VIEW: ClassVar[bool] = False
    name = "tile.pad"
    before = prop_def(INTS)
    after = prop_def(INTS)
    value = prop_def(FLOAT)

    @classmethod
    def infer(cls, x: Tile, *, before: tuple[int, ...], after: tuple[int, ...], value: float) -> tuple[int, ...]:
        if not len(x.shape) == len(before) == len(after) or min((*before, *after), default=0) < 0:
            raise Error("E0402", f"{list(x.shape)} cannot be padded by {list(before)} and {list(after)}")
        return tuple(d + b + a for d, b, a in zip(x.shape, before, after, strict=True))


@irdl_op_definition
class ConcatOp(TileOp):
    """Tiles laid one after another along an axis.

    Args:    xs: tiles of the same shape except along the axis.  axis: in [-rank, rank).
    Returns: y: tile.
    Raises:  E0401 if the shapes do not fit.  E0412 if axis is outside the rank.
    """

    name = "tile.concat"
    xs = var_operand_def(TILE)
    axis = prop_def(INT)
    y = result_def(TILE)
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, *xs: Tile, axis: int) -> tuple[int, ...]:
        if not xs:
            raise Error("E0401", "there is nothing to concatenate")
        at = axis_in(axis, len(xs[0].shape))
        rests = {(*x.shape[:at], *x.shape[at + 1 :]) for x in xs}
        if len(rests) != 1 or len({len(x.shape) for x in xs}) != 1:
            raise Error("E0401", f"{', '.join(str(list(x.shape)) for x in xs)} do not fit along axis {axis}")
        return (*xs[0].shape[:at], sum(x.shape[at] for x in xs), *xs[0].shape[at + 1 :])
