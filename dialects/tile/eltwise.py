"""Elementwise ops: one function, a change of format, and fused regions of them."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, region_def, result_def, traits_def, var_operand_def
from xdsl.traits import IsolatedFromAbove, IsTerminator
from xdsl.utils.exceptions import VerifyException

from ttc.dialects.core.ir.attributes import LiteralAttr
from ttc.dialects.core.ir.leaves import ConstantOp
from ttc.dialects.tile.base import TILE, TileOp, tile_of


@irdl_op_definition
class MapOp(TileOp):
    """One function applied element by element: y[i] = fn(x0[i], x1[i], ...), with numpy broadcasting.

    Args:    xs: tiles whose shapes broadcast.  fn: mnemonic of the elementwise nn op that it computes.
             names, values: the attributes of that op (floats, booleans, strings), by name.
    Returns: y: tile of the broadcast shape; truth values are 0 and 1 in its format.
    Raises:  E0401 if the shapes do not broadcast.  E0402 if names and values differ in number.
    """

    name = "tile.map"
    xs = var_operand_def(TILE)
    y = result_def(TILE)


@irdl_op_definition
class CastOp(TileOp):
    """A change of format: y[i] = x[i] in the format of the result.

    Args:    x: tile of any shape.  to: numpy name of the dtype that the source casts to (integers truncate, `bool` compares with
             zero) before the result's format holds it; absent where only the storage changes.
    Returns: y: tile of the shape of x.
    """

    name = "tile.cast"
    x = operand_def(TILE)
    y = result_def(TILE)


@irdl_op_definition
class EltwiseOp(TileOp):
    """A fused elementwise region: maps and casts that run as one op, intermediates never leaving the core.

    Args:    xs: tiles whose shapes broadcast to the result's.  Region: one block, an argument an operand, of `tile.map`, `tile.cast`
             and literals, ended by `tile.yield`.  Floating-point values inside are held in Float32 or wider.
    Returns: y: tile of the broadcast shape of the operands.
    Raises:  E0401 if the shapes do not broadcast.  E0302 if the region holds anything else.
    """

    name = "tile.eltwise"
    xs = var_operand_def(TILE)
    y = result_def(TILE)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove())

    def check(self) -> None:
        super().check()
        block = self.body.block
        if [a.type for a in block.args] != [x.type for x in self.xs]:
            raise VerifyException("the region's arguments are not of the types of the operands")
        *inner, last = block.ops or (None,)
        if not isinstance(last, YieldOp) or tile_of(last.value).shape != tile_of(self.y).shape:
            raise VerifyException("the region must end in a tile.yield of a value of the result's shape")
        for op in inner:
            literal = isinstance(op, ConstantOp) and isinstance(op.value, LiteralAttr)
            if not (literal or isinstance(op, MapOp | CastOp)):
                raise VerifyException(f"{op.name if op else 'nothing'} cannot stand in an elementwise region")


@irdl_op_definition
class YieldOp(TileOp):
    """Ends a region: its value is the result of the op around it.

    Args:    value: tile.
    """

    name = "tile.yield"
    value = operand_def(TILE)
    traits = traits_def(IsTerminator())
