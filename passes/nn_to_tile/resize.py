"""Lowering of resizing; what only repeats elements, and on tiles all that is a product, nn passes have expressed by other ops."""

from __future__ import annotations

from ttc.dialects.tile import resize as tile
from ttc.passes.nn_to_tile.rows import same_in_rows

same_in_rows(tile.ResizeOp)
same_in_rows(tile.ResizeByOp)
