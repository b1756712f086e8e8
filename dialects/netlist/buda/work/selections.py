"""Selections of rows that our compiler makes: as sparse matrix products."""

from __future__ import annotations

from ttc.dialects.netlist.buda.work.building import Build
from ttc.dialects.netlist.buda.work.reading import Read

TYPES: dict[str, Build] = {}
WORKS: dict[str, Read] = {}
