"""Lowering of ops that write where an index tensor says."""

from __future__ import annotations

from ttc.dialects.tile import scatter as tile
from ttc.passes.nn_to_tile.rows import same_in_rows

same_in_rows(tile.ScatterElementsOp)
same_in_rows(tile.ScatterNdOp)
