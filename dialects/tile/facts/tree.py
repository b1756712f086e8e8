"""Facts of ensembles of decision trees."""

from __future__ import annotations

from ttc.dialects.nn.shapes import tree
from ttc.dialects.tile.facts.base import INT, STR, Role, rows_fact

rows_fact(Role.TREE, {"aggregate": STR, "count": INT})(tree.tree_ensemble)
