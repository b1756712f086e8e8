"""Programs that an engine keeps from one process to the next: what it made of an archive, found again by the archive's seal.

The seal determines every byte of an archive, so that a netlist which was checked once need not be read again.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from ttc.dialects.core.plain import TensorType
from ttc.dialects.netlist import model
from ttc.dialects.netlist.model import Argument, Instruction, Netlist
from ttc.runtime.archive import Archive
from ttc.runtime.direct import DirectEntry, direct_input
from ttc.runtime.engines.base import Engine, RemembersPlans
from ttc.runtime.netlists import EntryPoint, Netlists
from ttc.runtime.program import Plans, Program
from ttc.runtime.tensors import Constants


def remember(program: Program, archive: Archive, engine: Engine) -> None:
    """Keep the plans of a program just loaded, if its engine does so, and all of its entries run without queues."""
    points = program.netlists.points
    direct = {name: point.direct for name, point in points.items() if point.direct is not None}
    if not isinstance(engine, RemembersPlans) or len(direct) < len(points):
        return
    note = json.dumps([_note(points[name].program, entry) for name, entry in direct.items()])
    engine.remember(archive.seal, note, {graph: program.plans[graph] for graph in program.executed.graphs})


def recall(archive: Archive, engine: Engine) -> Program | None:
    """The program of a verified archive with plans that were kept; None if there are none."""
    if not isinstance(engine, RemembersPlans):
        return None
    constants = Constants(archive.sources())

    @cache
    def read() -> Netlist:
        return archive.netlist()

    netlists = Netlists(read, joins=engine.joins_graphs)
    found = engine.recall(archive.seal, lambda: netlists.executed, constants)
    if found is None:
        return None
    note, plans = found
    points = {point.program.name: point for point in map(_point, json.loads(note))}
    netlists = Netlists(read, joins=engine.joins_graphs, points=points)
    return Program(netlists, archive.manifest.description, constants, Plans(engine, netlists, constants, plans, complete=True))


def _note(program: model.Program, entry: DirectEntry) -> dict[str, Any]:
    return {
        "name": program.name,
        "graph": entry.graph,
        "arguments": [_argument_note(a) for a in program.arguments],
        "results": [_argument_note(r) for r in program.results],
        "count": entry.count,
        "entries": [[item.entry.shape, item.entry.format, item.entry.layout] for item in entry.inputs],
    }


def _argument_note(argument: Argument) -> list[Any]:
    return [argument.name, argument.kind, argument.queue, argument.shape, argument.dtype, argument.streamed, argument.updates]


def _point(note: dict[str, Any]) -> EntryPoint:
    arguments, results = (tuple(map(_argument, note[name])) for name in ("arguments", "results"))
    program = model.Program(note["name"], arguments, results, (Instruction("execute", (note["graph"],)),))
    inputs = [argument for argument in arguments if argument.kind == "input"]
    entries = [TensorType(tuple(shape), format, layout) for shape, format, layout in note["entries"]]
    outputs = [result for result in results if result.kind == "output"]
    count = note["count"]
    given = [direct_input(argument, entry, count) for argument, entry in zip(inputs, entries, strict=True)]
    direct = DirectEntry(note["graph"], given, outputs, count)
    return EntryPoint(program, direct)


def _argument(note: list[Any]) -> Argument:
    name, kind, queue, shape, dtype, streamed, updates = note
    return Argument(name, kind, queue, tuple(shape), dtype, streamed, updates)
