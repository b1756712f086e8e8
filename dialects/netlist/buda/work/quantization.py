"""The steps between real numbers and integers as ops of their own."""

from __future__ import annotations

from ttc.dialects.netlist.buda.work import binary, matmul
from ttc.dialects.netlist.buda.work.building import Building
from ttc.dialects.netlist.buda.work.families import BUILDS, READS
from ttc.dialects.netlist.buda.work.reading import Parts, Reading
from ttc.dialects.netlist.buda.work.shared import number
from ttc.dialects.tile.facts.sfpu import RESCALES


def build(to: Building) -> int:
    """Build a step of quantization of the first input by the second; results in integers are rounded with the result of the op."""
    to.require_inputs(2)
    return rescale(to, str(to.op.type), to.input(0), to.input(1), float(number(to.op.attributes, "zero_point", 0.0)))


def rescale(to: Building, kind: str, x: int, scale: int, zero_point: float) -> int:
    """Emit one of the steps of quantization."""
    binary.require_same(to, x, scale)
    return to.emit("rescale", (x, scale), to.shape(x), kind=kind, zero_point=zero_point)


def read(work: Reading) -> Parts:
    """Read a step of quantization: an op of its own whose type is the kind, or attributes of the product that it follows."""
    if work.maker(work.main.operands[0]) == "tile.matmul":
        return matmul.with_scale(work)
    return Parts(str(work.main.attrs["kind"]), work.operands(), {"zero_point": work.main.attrs["zero_point"]})


BUILDS.add_all(dict.fromkeys(RESCALES, build))
READS.add("tile.rescale", read)
