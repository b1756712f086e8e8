"""Work of Buda's add, subtract, multiply and maximum."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.buda.work import depthwise, identity
from ttc.dialects.netlist.buda.work.building import Building
from ttc.dialects.netlist.buda.work.families import BUILDS, READS
from ttc.dialects.netlist.buda.work.reading import Parts, Reading
from ttc.dialects.tile.facts.sfpu import BINARY_FUNCTIONS


def build(to: Building) -> int:
    """Build a binary op, element by element."""
    to.require_inputs(2)
    return combine(to, str(to.op.type), to.input(0), to.input(1))


def combine(to: Building, fn: str, a: int, b: int) -> int:
    """Return one of the functions of two values of one shape."""
    require_same(to, a, b)
    return to.emit("binary", (a, b), to.shape(a), fn=fn)


def require_same(to: Building, a: int, b: int) -> None:
    """Raises E0401 where two operands differ in shape."""
    if to.shape(a) != to.shape(b):
        raise Error("E0401", f"its operands are {list(to.shape(a))} and {list(to.shape(b))}")


def read(work: Reading) -> Parts:
    """Read a binary op: its function is its type; what is added to a sparse or depthwise product is read as the product's bias."""
    if work.maker(work.main.operands[0]) == "tile.encoded_matmul":
        return identity.with_bias(work, identity.read(work.at(work.main.operands[0])))
    if work.maker(work.main.operands[0]) == "tile.tile_depthwise":
        return depthwise.with_bias(work, depthwise.read(work.at(work.main.operands[0])))
    return Parts(str(work.main.attrs["fn"]), work.operands())


BUILDS.add_all(dict.fromkeys(BINARY_FUNCTIONS, build))
READS.add("tile.binary", read)
