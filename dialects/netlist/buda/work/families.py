"""The tables of all families: types of the form to what builds their work, tile ops to what reads them."""

from __future__ import annotations

from ttc.dialects.netlist.buda.work import (
    binary,
    datacopy,
    depthwise,
    embedding,
    fused,
    identity,
    matmul,
    quantization,
    reduce,
    regions,
    selections,
    sfpu,
    splice,
    topk,
)
from ttc.dialects.netlist.buda.work.building import Build
from ttc.dialects.netlist.buda.work.reading import Read

_MODULES = (
    *(binary, datacopy, depthwise, embedding, fused, identity, matmul),
    *(quantization, reduce, regions, selections, sfpu, splice, topk),
)

BUILDS: dict[str, Build] = {type_: build for module in _MODULES for type_, build in module.TYPES.items()}
"""Makers of work by the op types of the form."""

READS: dict[str, Read] = {work: read for module in _MODULES for work, read in module.WORKS.items()}
"""Tile ops, by full name, that a work ends in before its relu, rounding and padding."""

ELEMENTWISE = frozenset((*binary.TYPES, *datacopy.TYPES, *sfpu.TYPES, *quantization.TYPES))
"""Types that take element for element."""
