"""Rows of a table that indices name."""

from __future__ import annotations

from math import prod

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.buda.work.building import Building
from ttc.dialects.netlist.buda.work.families import BUILDS, READS
from ttc.dialects.netlist.buda.work.reading import Parts, Reading
from ttc.dialects.netlist.buda.work.shared import FRAME, blocks, integer


def build(to: Building) -> int:
    """Build a gather of rows of a table: each row of cores has its own indices; all matrices of the result are the same."""
    to.require_inputs(2)
    table, indices = to.input(0), to.input(1)
    t, rows, _ = blocks(to.op)
    cores, width = (to.op.grid_size or (1, 1))[0], to.shape(table)[2]
    count = integer(to.op.attributes, "num_indices")
    shape = (t, rows * FRAME[0], width)
    return to.emit("lookup", (table, indices), shape, rows=shape[1], cores=cores, count=count, t=t)


def read(work: Reading) -> Parts:
    """Read a gather of rows whose number of indices a core is an attribute."""
    return Parts("embedding", work.operands(), {"num_indices": work.main.attrs["count"]})


def read_rows(work: Reading) -> Parts:
    """Read a gather of rows in which one row of cores has all indices."""
    indices = work.main.operands[1]
    if indices is None:
        raise Error("E0609", "an embedding lacks its indices")
    return Parts("embedding", work.operands(), {"num_indices": prod(work.type_of(indices).shape)})


BUILDS.add("embedding", build)
READS.add_all({"tile.lookup": read, "tile.embedding": read_rows})
