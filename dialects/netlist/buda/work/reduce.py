"""Work of Buda's reduce: maxima along a dimension."""

from __future__ import annotations

from collections.abc import Mapping

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.netlist.buda.work.building import Building
from ttc.dialects.netlist.buda.work.families import BUILDS, READS
from ttc.dialects.netlist.buda.work.reading import Parts, Reading
from ttc.dialects.netlist.buda.work.shared import FRAME, integer, word


def build(to: Building) -> int:
    """Build a maximum along rows or columns, which stands in the first column or row of tiles with zeros elsewhere, or of each group of z
    matrices.
    """
    to.require_inputs(1)
    return maximum(to, to.input(0), to.op.attributes)


def maximum(to: Building, value: int, attributes: Mapping[str, Plain]) -> int:
    """Return the maximum that the attributes dim and z of an op or sub-op say.  Raises E0503 for another type of reduction."""
    if str(attributes.get("type", "max")).lower() != "max":
        raise Error("E0503", f"a reduction of Buda is a max, not a {attributes.get('type')}")
    dim = word(attributes, "dim", ("r", "c", "z"))
    t, rows, columns = to.shape(value)
    if dim == "z":
        z = integer(attributes, "z", t)
        if z < 1 or t % z:
            raise Error("E0401", f"{t} matrices do not fall into groups of {z}")
        value = to.emit("reshape", (value,), (t // z, z, rows, columns), shape=(t // z, z, rows, columns))
        return to.emit("reduce", (value,), (t // z, rows, columns), fn="max", axes=(1,), keepdims=False)
    axis, shape, after = (2, (t, rows, 1), (0, 0, FRAME[1] - 1)) if dim == "c" else (1, (t, 1, columns), (0, FRAME[0] - 1, 0))
    value = to.emit("reduce", (value,), shape, fn="max", axes=(axis,), keepdims=True)
    whole = (t, shape[1] + after[1], shape[2] + after[2])
    return to.emit("pad", (value,), whole, before=(0, 0, 0), after=after, value=0.0)


def read(work: Reading) -> Parts:
    """Return a maximum along one of the last three dimensions."""
    attrs, operand = work.main.attrs, work.main.operands[0]
    axes = attrs.get("axes")
    if attrs.get("fn") != "max" or not isinstance(axes, tuple) or len(axes) != 1 or operand is None:
        raise Error("E0503", f"a reduction of Buda is a max along one dimension, not a {attrs.get('fn')} along {axes}")
    shape = work.type_of(operand).shape
    dim = {1: "c", 2: "r", 3: "z"}.get(len(shape) - int(str(axes[0])) % len(shape))
    if dim is None or (not attrs.get("keepdims") and dim != "z"):
        raise Error("E0503", f"Buda has no max along dimension {axes[0]} of {list(shape)}")
    said: dict[str, Plain] = {"dim": dim, "type": "max"}
    return Parts("reduce", work.operands(), said | {"z": shape[-3]} if dim == "z" else said)


def read_padded(work: Reading) -> Parts:
    """Return a maximum that was brought to whole tiles."""
    if work.maker(work.main.operands[0]) != "tile.reduce":
        raise Error("E0503", "Buda pads inputs of ops, not results")
    return read(work.at(work.main.operands[0]))


BUILDS.add("reduce", build)
READS.add_all({"tile.reduce": read, "tile.pad": read_padded})
