"""Copies: nop, datacopy, over Ethernet, and from rows to tiles."""

from __future__ import annotations

from ttc.dialects.netlist.buda.work.building import Build, Building

COPIES = ("nop", "datacopy", "ethernet_datacopy", "tilizer")


def build(to: Building) -> int:
    """The input, manipulated; what leaves rows for tiles keeps its values."""
    to.require_inputs(1)
    value = to.input(0)
    return to.emit("map", (value,), to.shape(value), fn="identity")


TYPES: dict[str, Build] = dict.fromkeys(COPIES, build)
WORKS = {}
