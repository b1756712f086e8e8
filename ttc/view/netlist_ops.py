"""A placed netlist as the page draws it: ops with their places and buffers, queues with their memory, epochs, the chip."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ttc.dialects.core.plain.functions import Function
from ttc.dialects.netlist.instructions import executed_graphs
from ttc.dialects.netlist.model import Ethernet, Graph, Grid, Netlist, Op, Queue
from ttc.dialects.netlist.occupancy import occupancy
from ttc.reports.netlist_summary import memory_facts
from ttc.view.texts import all_clipped, clipped, tensor_text

MAX_WORKS = 64
"""The most tile ops of one placed op that are listed."""
WEIGHTS = ("parameter", "constant", "state")
"""Kinds of queues that hold what the archive brings."""


def netlist_ops(netlist: Netlist) -> list[dict[str, Any]]:
    """Return all placed ops in the order of the graphs, and the inputs and outputs of programs; operands are places in this list.

    What a graph reads from a queue that another graph writes is an operand, too.
    """
    found: list[dict[str, Any]] = []
    places: dict[str, int] = {}
    for queue in netlist.queues.values():
        if queue.kind == "input":
            places[queue.name] = len(found)
            text = tensor_text(queue.tensor)
            found.append({"name": "input", "kind": "input", "id": clipped(queue.name), "sources": [clipped(queue.name)], "type": text})
    programs = _programs_of(netlist)
    for graph in netlist.graphs.values():
        for op in graph.ops:
            found.append(_op(op, graph, netlist, places) | {"function": programs.get(graph.name, "")})
            places[op.name] = len(found) - 1
        places.update({queue: places[op] for op, queue in graph.writes if op in places})
    for queue in netlist.queues.values():
        if queue.kind == "output" and queue.name in places:
            name = clipped(queue.name)
            found.append({"name": "output", "kind": "output", "id": name, "sources": [name], "inputs": [places[queue.name]]})
    return found


def _programs_of(netlist: Netlist) -> dict[str, str]:
    """Return the first program that executes each graph."""
    found: dict[str, str] = {}
    for program in netlist.programs.values():
        for graph in executed_graphs(program):
            found.setdefault(graph, clipped(program.name))
    return found


def _op(op: Op, graph: Graph, netlist: Netlist, places: dict[str, int]) -> dict[str, Any]:
    queues = [netlist.queues[name] for name in op.inputs if name in netlist.queues]
    found: dict[str, Any] = {
        "name": clipped(op.type),
        "kind": "op",
        "id": clipped(op.name),
        "sources": all_clipped(op.location),
        "type": tensor_text(op.work.value_types[op.work.outputs[0]]) if op.work.outputs else "",
        "inputs": [places[name] for name in op.inputs if name in places],
        "weights": [clipped(queue.key) for queue in queues if queue.kind in WEIGHTS and queue.key is not None],
        "graph": clipped(graph.name),
        "place": place_of(op, graph),
        "buffers": [{**asdict(buffer), "bytes": buffer.size_bytes} for buffer in op.buffers],
        "attributes": _attributes(op),
        "body": _works(op.work),
    }
    return {key: value for key, value in found.items() if value != [] and value != {}}


def place_of(op: Op, graph: Graph) -> dict[str, Any]:
    """Return where an op lies: kind `grid` with its rectangle of cores, `ethernet`, or `host`."""
    if isinstance(op.place, Ethernet):
        return {"kind": "ethernet", "chip": graph.chip, "to": op.place.chip}
    if not isinstance(op.place, Grid):
        return {"kind": "host", "chip": graph.chip}
    rows, cols = (op.place.cols, op.place.rows) if op.place.transposed else (op.place.rows, op.place.cols)
    return {"kind": "grid", "chip": graph.chip, "row": op.place.row, "col": op.place.col, "rows": rows, "cols": cols}


def _attributes(op: Op) -> dict[str, str]:
    """Return what a placed op says of its numbers and blocks."""
    found = {"fidelity": op.fidelity, "precision": op.precision, "intermediate": op.intermediate, "accumulate": op.accumulate}
    if op.blocking is not None:
        block = op.blocking
        found["blocks"] = f"t={block.t}, mblock={block.mblock[0]}x{block.mblock[1]}, ublock={block.ublock[0]}x{block.ublock[1]}"
    if op.inner is not None:
        found["K blocks"] = f"m_k={op.inner[0]}, u_kt={op.inner[1]}"
    return found


def _works(function: Function) -> list[str]:
    """Return the ops inside, a line each, those of regions behind their op."""
    lines: list[str] = []
    waiting = [*reversed(function.works)]
    while waiting and len(lines) < MAX_WORKS:
        work = waiting.pop()
        told = ", ".join(f"{name}={value}" for name, value in work.attrs.items())
        lines.append(clipped(f"{work.op}({told})"))
        for body in (work.body, *work.bodies):
            waiting.extend(reversed(body.works) if body is not None else ())
    return [*lines, f"… and {len(waiting)} more"] if waiting else lines


def device_of(netlist: Netlist, ops: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the chip, its epochs with their ops (places in `ops`), and all queues with the memory that they take."""
    chip = netlist.chip
    writers = {queue: op for graph in netlist.graphs.values() for op, queue in graph.writes}
    members: dict[str, list[int]] = {}
    for number, op in enumerate(ops):
        if "graph" in op:
            members.setdefault(op["graph"], []).append(number)
    return {
        "target": clipped(chip.target),
        "grid": None if chip.grid is None else list(chip.grid),
        "chips": chip.chips,
        "l1_bytes": chip.l1_usable_bytes,
        "dram_reserved_bytes": chip.dram_reserved_bytes,
        "links": [list(link) for link in chip.links],
        "epochs": [
            {"name": clipped(g.name), "chip": g.chip, "inputs": g.input_count, "ops": members.get(clipped(g.name), [])}
            for g in netlist.graphs.values()
        ],
        "queues": [_queue(queue, writers.get(queue.name)) for queue in netlist.queues.values()],
        "memory": [memory_facts(use) for use in occupancy(netlist)],
    }


def _queue(queue: Queue, source: str | None) -> dict[str, Any]:
    return {
        "name": clipped(queue.name),
        "kind": queue.kind,
        "type": tensor_text(queue.tensor),
        "location": queue.location,
        "chip": queue.chip,
        "entries": queue.entries,
        "source": None if source is None else clipped(source),
        "bytes": queue.buffer_bytes,
        "buffers": [list(buffer) for buffer in queue.buffers] if queue.location == "dram" else [],
        "lifetime": None if queue.lifetime is None else list(queue.lifetime),
        "key": None if queue.key is None else clipped(queue.key),
    }
