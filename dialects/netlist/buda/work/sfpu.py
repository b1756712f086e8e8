"""Functions of one operand that the vector unit computes."""

from __future__ import annotations

from collections.abc import Mapping

from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.netlist.buda.work import matmul
from ttc.dialects.netlist.buda.work.building import Building, input_tile
from ttc.dialects.netlist.buda.work.families import BUILDS, READS
from ttc.dialects.netlist.buda.work.reading import Parts, Reading
from ttc.dialects.netlist.buda.work.shared import FRAME, integer, number, word
from ttc.dialects.tile.facts.sfpu import SFPU_FUNCTIONS

PARAMETERS = {"lrelu": "slope", "power": "exp", "dropout": "p"}
"""The attribute in the format that is the parameter of a function, by function."""
DEFAULTS = {"lrelu": 0.01, "dropout": 0.0}


def build(to: Building) -> int:
    """Build one function of the input."""
    to.require_inputs(1)
    return apply(to, str(to.op.type), to.input(0), to.op.attributes, input_tile(to.inputs[0], to.op))


def apply(
    to: Building, fn: str, value: int, attributes: Mapping[str, Plain], tile: tuple[int, int] = FRAME, *, in_place: bool = False
) -> int:
    """Return a function of a value with the attributes of an op or sub-op.

    Args:    tile: of the input.  in_place: the result takes the place of the value, so what is not computed stays.
    """
    attrs: dict[str, Plain] = {"fn": fn}
    if fn in PARAMETERS:
        attrs["parameter"] = parameter(fn, attributes)
    vector = word(attributes, "vector", ("r", "c", "rc"), "rc")
    if vector != "rc":
        attrs |= {"vector": vector, "tile": tile, "rest": "input" if in_place else "zero"}
    elif fn == "dropout":
        attrs["tile"] = to.tile
    return to.emit("sfpu", (value,), to.shape(value), **attrs)


def parameter(fn: str, attributes: Mapping[str, Plain]) -> float:
    """Return the parameter of a function: slope, exponent or probability."""
    name = PARAMETERS[fn]
    return float(integer(attributes, name)) if fn == "power" else float(number(attributes, name, DEFAULTS[fn]))


def read(work: Reading) -> Parts:
    """Read a function as an op: its type, with the parameter as an attribute; gelu of a product belongs to the product."""
    if work.maker(work.main.operands[0]) in ("tile.matmul", "tile.rescale"):
        return matmul.with_gelu(work)
    return Parts(str(work.main.attrs["fn"]), work.operands(), said_by(work.main.attrs))


def said_by(attrs: Mapping[str, Plain]) -> dict[str, Plain]:
    """Return the attributes in the format for those of a tile.sfpu."""
    fn = str(attrs["fn"])
    found: dict[str, Plain] = {}
    if fn in PARAMETERS:
        value = number(attrs, "parameter", 0.0)
        if value != DEFAULTS.get(fn):
            found[PARAMETERS[fn]] = int(value) if fn == "power" else value
    if attrs.get("vector", "rc") != "rc":
        found["vector"] = attrs["vector"]
    return found


BUILDS.add_all(dict.fromkeys(SFPU_FUNCTIONS, build))
READS.add("tile.sfpu", read)
