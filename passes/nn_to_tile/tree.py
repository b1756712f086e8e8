"""Lowering of ensembles of decision trees."""

from __future__ import annotations

from ttc.dialects.tile import tree as tile
from ttc.passes.nn_to_tile.rows import same_in_rows

same_in_rows(tile.TreeEnsembleOp)
