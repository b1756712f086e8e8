"""Programs that an engine keeps from one process to the next: what it made of an archive, found again by the archive's seal.

The seal determines every byte of an archive, so that a netlist which was checked once need not be read again.
"""

from __future__ import annotations

import json
from functools import cache

from ttc.dialects.netlist.codec import decode, encode
from ttc.dialects.netlist.model import Netlist
from ttc.runtime.archive import Archive
from ttc.runtime.engines.base import Engine, RemembersPlans
from ttc.runtime.machine.surface import Surface
from ttc.runtime.metrics import counter
from ttc.runtime.netlists import Netlists
from ttc.runtime.program import Plans, Program
from ttc.runtime.tensors import Constants

_HITS, _MISSES = counter("program_cache_hits"), counter("program_cache_misses")


def remember(program: Program, archive: Archive, engine: Engine) -> None:
    """Keep the plans of a program just loaded, if its engine does so."""
    if not isinstance(engine, RemembersPlans):
        return
    note = json.dumps(encode(program.netlists.surface))
    engine.remember(archive.seal, note, {graph: program.plans[graph] for graph in program.netlists.surface.graphs})


def recall(archive: Archive, engine: Engine) -> Program | None:
    """Return the program of a verified archive with plans that were kept; None if there are none."""
    if not isinstance(engine, RemembersPlans):
        return None
    constants, description = Constants(archive.sources()), archive.manifest.description

    @cache
    def read() -> Netlist:
        return archive.netlist()

    netlists = Netlists(read, description, joins=engine.joins_graphs)
    found = engine.recall(archive.seal, lambda: netlists.executed, constants)
    if found is None:
        _MISSES.add()
        return None
    _HITS.add()
    note, plans = found
    netlists = Netlists(read, description, joins=engine.joins_graphs, surface=decode(Surface, json.loads(note)))
    return Program(netlists, description, constants, Plans(engine, netlists, constants, plans))
