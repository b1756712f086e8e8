"""Matrix products with matrices that are mostly zero: selections of rows, and one weight a channel."""

from __future__ import annotations

from xdsl.irdl import AttrSizedOperandSegments, irdl_op_definition, operand_def, opt_operand_def, result_def

from ttc.dialects.tile.base import TILE, TileOp


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
    y = result_def(TILE)


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
    y = result_def(TILE)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
