"""Facts of ops that read where an index tensor says."""

from __future__ import annotations

from math import prod

from ttc.dialects.core.errors import Error
from ttc.dialects.core.shapes import Shape
from ttc.dialects.core.tiling.arrays import MAX_ELEMENTS, SIDE
from ttc.dialects.nn.shapes import index
from ttc.dialects.tile.facts.base import INT, Role, fact, rows_fact

rows_fact(Role.GATHER, {"axis": INT})(index.gather)
rows_fact(Role.GATHER, {"axis": INT})(index.gather_elements)
rows_fact(Role.GATHER, {"batch_dims": INT})(index.gather_nd)


@fact(Role.GATHER)
def embedding(table: Shape, indices: Shape) -> Shape:
    """Return [..., width] for table[rows, width] and indices[...].  Raises E0401."""
    if len(table) != 2:
        raise Error("E0401", f"an embedding table has rank 2, not {list(table)}")
    return (*indices, table[1])


@fact(Role.GATHER, dict.fromkeys(("rows", "cores", "count", "t"), INT))
def lookup(table: Shape, indices: Shape, *, rows: int, cores: int, count: int, t: int) -> Shape:
    """Return [t, rows, width] for table[..., width] and indices[z, rows, columns].  Raises E0401, E0402."""
    shared = len(indices) == 3 and cores >= 1 and indices[1] % (SIDE * cores) == indices[2] % SIDE == 0
    if not table or not shared or prod(indices) < cores * count:
        raise Error("E0401", f"{cores} cores do not find {count} indices each in {list(indices)}")
    if count < 0 or t < 1 or rows % cores or rows // cores < count or t * rows * table[-1] > MAX_ELEMENTS:
        raise Error("E0402", f"{rows} rows of {cores} cores do not hold {count} each, {t} times")
    return (t, rows, table[-1])
