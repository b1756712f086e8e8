"""Matrix products with matrices that are mostly zero: selections of rows, and one weight a channel."""

from __future__ import annotations

from math import prod

from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import BOOL, FLOATS, INT, INTS, STR
from ttc.dialects.tile.base import TILE, Tile, TileOp, require_broadcastable
from ttc.dialects.tile.kernels.sparse import MAX_ROWS

MAX_STEP = 1 << 31
"""Bound on the numbers of a selection."""


@irdl_op_definition
class SparseMatmulOp(TileOp):
    """A constant matrix of zeros and ones times x: each row of the result is a row of x, or a sum of rows, or zero.

    The matrix is not stored but described.  The rows of x are the points of a grid `source`, those of the result the points of a grid
    `sizes` without its first `terms` dimensions, over which the result is a sum:

        y[i] = sum over terms of x[s],  s[d] = (offsets[d] + sum over j of steps[d, j] * i[j]) / divisors[d]

    A point outside the source, or between its points, adds nothing; with `nearest`, points outside count as the nearest inside.

    Args:    x: tile[..., c].  source: sizes of the grid of its rows.  sizes: of the grid of terms and rows of the result.
             steps: for each dimension of the source, a factor for each dimension of `sizes`.  offsets, divisors: one a dimension of
             the source.  terms: how many leading dimensions of `sizes` are summed over.  nearest: see above.  shape: of the result.
    Returns: y: tile of that shape.
    Raises:  E0401 if the grids do not fit the shapes, E0402 for attributes that contradict each other.
    Source:  the matmul with attribute `identity` of Buda netlists.
    """

    name = "tile.sparse_matmul"
    x = operand_def(TILE)
    source = prop_def(INTS)
    sizes = prop_def(INTS)
    steps = prop_def(INTS)
    offsets = prop_def(INTS)
    divisors = prop_def(INTS)
    terms = prop_def(INT)
    nearest = prop_def(BOOL)
    shape = prop_def(INTS)
    y = result_def(TILE)
    traits = traits_def(Pure())

    @classmethod
    def infer(
        cls,
        x: Tile,
        *,
        source: tuple[int, ...],
        sizes: tuple[int, ...],
        steps: tuple[int, ...],
        offsets: tuple[int, ...],
        divisors: tuple[int, ...],
        terms: int,
        nearest: bool,
        shape: tuple[int, ...],
    ) -> tuple[int, ...]:
        lengths = (len(steps), len(offsets), len(divisors))
        if lengths != (len(source) * len(sizes), len(source), len(source)) or not 0 <= terms <= len(sizes):
            raise Error("E0402", f"a selection from {list(source)} to {list(sizes)} has {lengths} steps, offsets and divisors")
        numbers = (*source, *sizes, *shape, *steps, *offsets, *divisors)
        if max(map(abs, numbers), default=0) > MAX_STEP or min((*sizes, *shape), default=0) < 0 or min((*source, *divisors), default=1) < 1:
            raise Error("E0402", "the numbers of a selection are out of range")
        rows = prod(sizes[terms:])
        if not x.shape or not shape or shape[-1] != x.shape[-1] or prod(shape[:-1]) != rows or prod(source) != prod(x.shape[:-1]):
            raise Error("E0401", f"a selection of {rows} rows from {list(source)} does not take {list(x.shape)} to {list(shape)}")
        if prod(sizes) > MAX_ROWS:
            raise Error("E0402", f"a selection of {prod(sizes):,} rows is too long")
        return shape


@irdl_op_definition
class DepthwiseOp(TileOp):
    """Sum over taps of one weight a channel: y[r, c] = activation(bias + sum over z of a[z, r, c] * b[z, c]).

    Args:    a: tile[z, r, c].  b: tile[z, c].  bias: broadcasts to the result.
             activation: mnemonic of a unary nn op applied to the result, activation_args: its float attributes in the order of its fields.
    Returns: y: tile[r, c].
    Raises:  E0401 if the shapes do not fit.
    Source:  op `depthwise` of Buda netlists, where b is a diagonal matrix a tile.
    """

    name = "tile.depthwise"
    a = operand_def(TILE)
    b = operand_def(TILE)
    bias = opt_operand_def(TILE)
    activation = opt_prop_def(STR)
    activation_args = opt_prop_def(FLOATS)
    y = result_def(TILE)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    @classmethod
    def infer(
        cls, a: Tile, b: Tile, bias: Tile | None = None, *, activation: str | None = None, activation_args: tuple[float, ...] = ()
    ) -> tuple[int, ...]:
        if len(a.shape) != 3 or b.shape != (a.shape[0], a.shape[2]):
            raise Error("E0401", f"a depthwise product takes [z, r, c] and [z, c], not {list(a.shape)} and {list(b.shape)}")
        shape = a.shape[1:]
        require_broadcastable(bias, shape)
        return shape
