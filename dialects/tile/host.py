"""Borders between the device and the host, where nn ops run."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.nn.base import TENSOR
from ttc.dialects.tile.base import TILE, TileOp, tile_of


@irdl_op_definition
class ToHostOp(TileOp):
    """Bring a tile to the host, as a tensor of the dtype that host ops expect.

    Args:    x: tile of any shape.
    Returns: y: tensor of the same shape.
    """

    name = "tile.to_host"
    x = operand_def(TILE)
    y = result_def(TENSOR)

    def check(self) -> None:
        if tile_of(self.x).shape != spec_of(self.y.type).shape:
            raise VerifyException(f"{self.x.type} and {self.y.type} differ in shape")


@irdl_op_definition
class FromHostOp(TileOp):
    """Bring a tensor of the host to the device, in the format of the result.

    Args:    x: tensor of static shape.
    Returns: y: tile of the same shape.
    """

    name = "tile.from_host"
    x = operand_def(TENSOR)
    y = result_def(TILE)

    def check(self) -> None:
        if spec_of(self.x.type).shape != tile_of(self.y).shape:
            raise VerifyException(f"{self.x.type} and {self.y.type} differ in shape")
