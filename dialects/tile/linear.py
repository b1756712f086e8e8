"""Matrix products and determinants as ops of tile."""

from __future__ import annotations

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
from ttc.dialects.core.ir.attributes import BOOL, FLOATS, STR
from ttc.dialects.nn.base import broadcast_shapes
from ttc.dialects.tile.base import TILE, SharedOp, Tile, TileOp, require_broadcastable


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
    transpose_a = prop_def(BOOL)
    transpose_b = prop_def(BOOL)
    accumulate = opt_prop_def(BOOL)
    activation = opt_prop_def(STR)
    activation_args = opt_prop_def(FLOATS)
    y = result_def(TILE)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    @classmethod
    def infer(
        cls,
        a: Tile,
        b: Tile,
        bias: Tile | None = None,
        *,
        transpose_a: bool,
        transpose_b: bool,
        accumulate: bool = False,
        activation: str | None = None,
        activation_args: tuple[float, ...] = (),
    ) -> tuple[int, ...]:
        if len(a.shape) < 2 or len(b.shape) < 2:
            raise Error("E0401", f"a matmul needs operands of rank 2 or more, not {list(a.shape)} and {list(b.shape)}")
        m, k = reversed(a.shape[-2:]) if transpose_a else a.shape[-2:]
        k_of_b, n = reversed(b.shape[-2:]) if transpose_b else b.shape[-2:]
        if k != k_of_b:
            raise Error("E0401", f"a matmul sums over {k} elements of a but {k_of_b} of b")
        if accumulate and (min(len(a.shape), len(b.shape)) < 3 or a.shape[-3] != b.shape[-3] or a.shape[-3] < 1):
            raise Error("E0401", f"products of {list(a.shape)} and {list(b.shape)} cannot be summed")
        outer = 3 if accumulate else 2
        shape = (*broadcast_shapes(a.shape[:-outer], b.shape[:-outer]), m, n)
        require_broadcastable(bias, shape)
        return shape


@irdl_op_definition
class DetOp(SharedOp):
    """Determinants of the matrices in the last two dimensions.

    Args:    x: tile[..., m, m].
    Returns: y: tile[...].
    Raises:  E0401 unless the last two dimensions are equal.
    """

    name = "tile.det"
    x = operand_def(TILE)
    y = result_def(TILE)
    traits = traits_def(Pure())
