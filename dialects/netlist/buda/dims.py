"""Shapes that the fields of queues and ops imply."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.netlist.buda.form import BudaOp, BudaQueue
from ttc.dialects.netlist.buda.normal import TILE
from ttc.dialects.netlist.model import Blocking

MAX_ELEMENTS = 1 << 48


def blocks(item: BudaQueue | BudaOp, where: str) -> tuple[Blocking, tuple[int, int], TensorType]:
    """Blocks of one core, the grid, and the tensor [t, rows, columns] in tiles.  Raises E0602 for what is missing or not positive."""
    format_ = item.df if isinstance(item, BudaQueue) else item.out_df
    fields = {"t": item.t, "mblock": item.mblock, "ublock": item.ublock, "grid_size": item.grid_size}
    for name, value in {**fields, "data format": format_}.items():
        if value is None:
            raise Error("E0602", f"its {name} is missing", where=where)
    t, mblock, ublock, grid = item.t or 0, item.mblock or (0, 0), item.ublock or (0, 0), item.grid_size or (0, 0)
    height, width = item.tile_dim or TILE
    shape = (t, grid[0] * mblock[0] * ublock[0] * height, grid[1] * mblock[1] * ublock[1] * width)
    if min(t, *mblock, *ublock, *grid) < 1 or shape[0] * shape[1] * shape[2] > MAX_ELEMENTS:
        raise Error("E0602", f"its grid and blocks make a tensor of {list(shape)} elements", where=where)
    blocking = Blocking(t, mblock, ublock, "c" if item.ublock_order == "c" else "r")
    return blocking, grid, TensorType(shape, format_ or "", f"tiles({height}, {width})")
