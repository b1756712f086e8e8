"""Matrix products as an op of tile."""

from __future__ import annotations

from xdsl.irdl import AttrSizedOperandSegments, irdl_op_definition, operand_def, opt_operand_def, result_def

from ttc.dialects.tile.base import TILE, TileOp


@irdl_op_definition
class MatmulOp(TileOp):
    """Matrix product over the last two dimensions: y = activation(a @ b + bias), or with accumulate the sum of such products.

    Args:    a: tile[..., m, k], or [..., k, m] with transpose_a.  b: tile[..., k, n], or [..., n, k] with transpose_b; leading
             dimensions broadcast.  bias: broadcasts to the result.  accumulate: the products are summed over the dimension before the
             last two, which a and b have in the same size and the result lacks.
             activation: mnemonic of a unary nn op applied to the result, activation_args: its float attributes in the order of its fields.
    Returns: y: tile[..., m, n].
    Raises:  E0401 if the shapes do not fit.
    """

    name = "tile.matmul"
    a = operand_def(TILE)
    b = operand_def(TILE)
    bias = opt_operand_def(TILE)
    y = result_def(TILE)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
