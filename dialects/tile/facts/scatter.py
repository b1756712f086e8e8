"""Facts of ops that write where an index tensor says."""

from __future__ import annotations

from ttc.dialects.nn.shapes import scatter
from ttc.dialects.tile.facts.base import INT, STR, Role, rows_fact

rows_fact(Role.SCATTER, {"reduction": STR, "axis": INT})(scatter.scatter_elements)
rows_fact(Role.SCATTER, {"reduction": STR})(scatter.scatter_nd)
