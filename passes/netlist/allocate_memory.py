"""Addresses of queues in DRAM and host memory, by their lifetimes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp

from ttc.dialects.core.errors import Error
from ttc.dialects.core.locations import source_names
from ttc.dialects.core.targets import Target
from ttc.dialects.netlist.ops import QueueOp, graphs_of, programs_of, queues_of
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.netlist.memory import Channel, Request, place_all

LISTED = 5
"""Queues that an error about memory lists."""
ALWAYS = ("parameter", "constant", "state")
"""Kinds of queues that hold their value all the time."""
FOREVER = (0, sys.maxsize)


@dataclass(frozen=True)
class AllocateMemory(Pass):
    """Give every buffer of every queue a channel and an address; queues that are never alive together may share addresses.

    Positions in time are the executes of a program, counted from 0.  Parameters, constants and states live throughout; inputs
    from the start of their program, outputs to its end, edges from the graph that writes them to the last that reads them.

    Before:
        netlist.queue() {buffer_bytes = 4128, grid = [1, 2], kind = "constant", location = "dram", sym = "w", type = "ram",
            tensor = !tile.tensor<"32x64xFloat32", "tiles(32, 32)">} : () -> ()
    After:
        netlist.queue() {buffer_bytes = 4128, buffers = #netlist.addresses<[[0, 83623936], [1, 83623936]]>, grid = [1, 2],
            kind = "constant", location = "dram", sym = "w", type = "ram",
                tensor = !tile.tensor<"32x64xFloat32", "tiles(32, 32)">} : () -> ()
    Missed:
        what does not fit is an error that lists the largest queues.
    """

    name: ClassVar[str] = "allocate-memory"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        queues = queues_of(unit.module)
        for name, span in lifetimes(unit.module).items():
            queues[name].lifetime = span
        dram = [q for q in queues.values() if q.space == "dram"]
        host = [q for q in queues.values() if q.space != "dram"]
        target = unit.target
        limit = target.dram_channel_bytes
        channels = [Channel(target.dram_reserved_bytes, limit, target.alignment_bytes) for _ in range(target.dram_channels)]
        _place(dram, channels, target)
        _place(host, [Channel(0, None, target.alignment_bytes)], target)
        rewriter.report.rewrites["allocate-queue"] += len(queues)


def _place(queues: Sequence[QueueOp], channels: Sequence[Channel], target: Target) -> None:
    requests = [(Request(q.sym, q.buffer_bytes or 0, *(q.lifetime or FOREVER)), _count(q)) for q in queues]
    found, failed = place_all(channels, requests)
    if failed:
        raise _too_large(queues, failed, target)
    for queue in queues:
        queue.buffers = found[queue.sym]


def _count(queue: QueueOp) -> int:
    rows, cols = queue.grid or (1, 1)
    return rows * cols


def _too_large(queues: Sequence[QueueOp], failed: Sequence[str], target: Target) -> Error:
    largest = sorted(queues, key=lambda q: -(q.buffer_bytes or 0) * _count(q))[:LISTED]
    lines = [f"{q.sym}: {(q.buffer_bytes or 0) * _count(q):,} bytes ({', '.join(source_names(q.location)) or q.kind})" for q in largest]
    room = target.dram_channels * (target.dram_channel_bytes - target.dram_reserved_bytes)
    return Error(
        "E0503",
        f"{len(failed)} queues, the first '{failed[0]}', find no room in the {room:,} bytes of DRAM of {target.name}",
        hint="a smaller batch or format would help",
        excerpt="\n".join(["largest queues:", *lines]),
    )


def lifetimes(module: ModuleOp) -> dict[str, tuple[int, int]]:
    """First and last execute of its program at which each input, output and edge must hold its value."""
    graphs = graphs_of(module)
    spans: dict[str, tuple[int, int]] = {}
    for program in programs_of(module).values():
        steps = [str(step.args[0]) for step in program.instructions() if step.opcode == "execute"]
        last = max(len(steps) - 1, 0)
        uses = [(port.queue, position) for position, name in enumerate(steps) for port in (*graphs[name].reads, *graphs[name].writes)]
        uses += [(argument.queue, 0) for argument in program.arguments] + [(result.queue, last) for result in program.outputs]
        for name, position in uses:
            first, final = spans.get(name, (position, position))
            spans[name] = (min(first, position), max(final, position))
    return {name: spans.get(name, (0, 0)) for name, queue in queues_of(module).items() if queue.kind not in ALWAYS}
