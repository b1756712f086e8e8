"""The largest numbers of rows."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.netlist.buda.work.building import Building
from ttc.dialects.netlist.buda.work.families import BUILDS, READS
from ttc.dialects.netlist.buda.work.reading import Parts, Reading
from ttc.dialects.netlist.buda.work.shared import FRAME, flag, integer, word


def build(to: Building) -> int:
    """Build a topk: values or indices of the k largest of each core's columns."""
    to.require_inputs(2)
    values, indices = to.input(0), to.input(1)
    k, cores = integer(to.op.attributes, "k"), (to.op.grid_size or (1, 1))[1]
    if k < 1:
        raise Error("E0402", f"attribute k is at least 1, not {k}")
    width = -(-k // FRAME[1]) * FRAME[1]
    t, rows, _ = to.shape(values)
    sort = word(to.op.attributes, "sort", ("max", "argmax"))
    given: dict[str, Plain] = {"k": k, "sort": sort, "sorted_runs": flag(to.op.attributes, "kreduce"), "cores": cores, "width": width}
    return to.emit("topk", (values, indices), (t, rows, cores * width), **given)


def read(work: Reading) -> Parts:
    """Read a topk: k, what is given and how it is sorted are attributes."""
    attrs = work.main.attrs
    return Parts("topk", work.operands(), {"k": attrs["k"], "sort": attrs["sort"], "kreduce": attrs["sorted_runs"]})


BUILDS.add("topk", build)
READS.add("tile.topk", read)
