"""Copies: nop, datacopy, over Ethernet, and from rows to tiles."""

from __future__ import annotations

from ttc.dialects.netlist.buda.work.building import Building
from ttc.dialects.netlist.buda.work.families import BUILDS

COPIES = ("nop", "datacopy", "ethernet_datacopy", "tilizer")


def build(to: Building) -> int:
    """Build a copy: the input, manipulated; what leaves rows for tiles keeps its values."""
    to.require_inputs(1)
    value = to.input(0)
    return to.emit("map", (value,), to.shape(value), fn="identity")


BUILDS.add_all(dict.fromkeys(COPIES, build))
