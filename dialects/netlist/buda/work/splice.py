"""Pieces of several inputs in turn."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.netlist.buda.work.building import Building
from ttc.dialects.netlist.buda.work.families import BUILDS, READS
from ttc.dialects.netlist.buda.work.reading import Parts, Reading
from ttc.dialects.netlist.buda.work.shared import blocks, word

MAX_INPUTS = 8


def build(to: Building) -> int:
    """Build a splice of pieces, which are matrices (granularity t) or blocks of each core (granularity ublock)."""
    to.require_inputs(*range(1, MAX_INPUTS + 1))
    values = tuple(to.input(i) for i in range(len(to.inputs)))
    pieces = tuple(number for i in range(len(values)) for number in _piece(to, i))
    granularity = word(to.op.attributes, "granularity", ("t", "ublock"), "ublock")
    t, rows, columns = blocks(to.op)
    op = to.op
    if op.grid_size is None or op.mblock is None or op.ublock is None:
        raise Error("E0602", "an op needs grid_size, mblock and ublock")
    if granularity == "t":
        return to.emit("splice", values, (t, *to.shape(values[0])[1:]), pieces=pieces, units=t, granularity="t")
    block = (op.ublock[0] * to.tile[0], op.ublock[1] * to.tile[1])
    cut: dict[str, Plain] = {"grid": op.grid_size, "mblock": op.mblock, "block": block, "order": op.ublock_order or "r"}
    shape = (to.shape(values[0])[0], rows * to.tile[0], columns * to.tile[1])
    return to.emit("splice", values, shape, pieces=pieces, units=op.mblock[0] * op.mblock[1], granularity="ublock", **cut)


def _piece(to: Building, index: int) -> tuple[int, int, int]:
    """index, length and stride of an input."""
    found = to.op.attributes.get(f"input{index}")
    if not isinstance(found, tuple) or len(found) != 3 or not all(type(n) is int for n in found):
        raise Error("E0402", f"attribute input{index} is not [index, length, stride]")
    first, length, stride = (n for n in found if isinstance(n, int))
    return first, length, stride


def read(work: Reading) -> Parts:
    """Read a splice as its pieces and granularity."""
    attrs = work.main.attrs
    pieces = attrs["pieces"]
    if not isinstance(pieces, tuple):
        raise Error("E0609", "a splice lacks its pieces")
    said: dict[str, Plain] = {f"input{i}": pieces[3 * i : 3 * i + 3] for i in range(len(pieces) // 3)}
    return Parts("splice", work.operands(), {**said, "granularity": attrs["granularity"]})


def read_concat(work: Reading) -> Parts:
    """Read a concatenation of matrices as a splice.  Raises E0503 for a concatenation within matrices."""
    rank, axis = len(work.result.shape), work.main.attrs["axis"]
    operands = work.operands()
    if not isinstance(axis, int) or rank < 3 or axis % rank != rank - 3 or len(operands) > MAX_INPUTS:
        raise Error("E0503", f"Buda splices up to {MAX_INPUTS} stacks of matrices, not {len(operands)} tensors along axis {axis}")
    said: dict[str, Plain] = {"granularity": "t"}
    for i, operand in enumerate(operands):
        count = work.type_of(operand.value).shape[-3]
        said[f"input{i}"] = (0, count, count)
    return Parts("splice", operands, said)


BUILDS.add("splice", build)
READS.add_all({"tile.splice": read, "tile.concat": read_concat})
