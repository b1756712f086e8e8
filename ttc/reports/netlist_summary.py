"""Figures of a netlist that people ask for: epochs, cores, DRAM, estimated cycles."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Graph, Grid, Netlist
from ttc.dialects.netlist.occupancy import MemoryUse, channel_numbers, occupancy


@record
class EpochSummary:
    """The figures of one graph.  cores: that it occupies; host_ops: without cores; cycles: of its slowest op, for all microbatches; chip:
    it runs on.
    """

    name: str
    ops: int
    host_ops: int
    cores: int
    input_count: int
    cycles: int
    chip: int = 0


@record
class NetlistSummary:
    """A netlist in figures: epochs, cores, memory and estimated cycles.

    Args:
        grid_cores: cores of one chip; 0 on `host`.
        cores_used: the most that one epoch occupies.
        cores_mean: the mean over epochs that have ops on cores.
        dram_bytes: by channel, of all chips together; empty on `host`.
        memory: peak, lower bound and fragmentation of the DRAM of each chip that queues lie in.
        host_bytes: of queues in host memory.
    """

    target: str
    epochs: tuple[EpochSummary, ...]
    ops: int
    grid_cores: int
    cores_used: int
    cores_mean: float
    dram_bytes: dict[int, int]
    host_bytes: int
    queues: int
    memory: tuple[MemoryUse, ...] = ()

    @property
    def chips(self) -> int:
        """The number of chips whose DRAM queues lie in."""
        return len(self.memory)


def summarize(netlist: Netlist) -> NetlistSummary:
    """Return the figures of a netlist."""
    epochs = tuple(_epoch(graph) for graph in netlist.graphs.values())
    grid = netlist.chip.grid
    placed = [epoch.cores for epoch in epochs if epoch.cores]
    dram, host = _queue_bytes(netlist)
    return NetlistSummary(
        target=netlist.chip.target,
        epochs=epochs,
        ops=sum(epoch.ops for epoch in epochs),
        grid_cores=0 if grid is None else grid[0] * grid[1],
        cores_used=max(placed, default=0),
        cores_mean=sum(placed) / len(placed) if placed else 0.0,
        dram_bytes=dram,
        host_bytes=host,
        queues=len(netlist.queues),
        memory=occupancy(netlist),
    )


def _epoch(graph: Graph) -> EpochSummary:
    places = [op.place for op in graph.ops if isinstance(op.place, Grid)]
    return EpochSummary(
        name=graph.name,
        ops=len(graph.ops),
        host_ops=len(graph.ops) - len(places),
        cores=sum(place.rows * place.cols for place in places),
        input_count=graph.input_count,
        cycles=max((op.cycles for op in graph.ops), default=0) * graph.input_count,
        chip=graph.chip,
    )


def _queue_bytes(netlist: Netlist) -> tuple[dict[int, int], int]:
    """Return bytes of DRAM by channel, and of host memory: every range once, as queues of disjoint lifetimes share addresses."""
    ranges: dict[tuple[int, int], set[tuple[int, int]]] = {}
    host = 0
    for queue in netlist.queues.values():
        if queue.location != "dram":
            host += queue.buffer_bytes * queue.grid[0] * queue.grid[1]
            continue
        for channel, address in queue.buffers:
            ranges.setdefault((queue.chip, channel), set()).add((address, address + queue.buffer_bytes))
    dram = dict.fromkeys(channel_numbers(netlist.chip), 0)
    for (_, channel), found in sorted(ranges.items()):
        dram[channel] = dram.get(channel, 0) + _covered(found)
    return dram, host


def _covered(ranges: set[tuple[int, int]]) -> int:
    """Bytes that at least one [start, end) range covers."""
    total = reached = 0
    for start, end in sorted(ranges):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


def memory_facts(use: MemoryUse) -> dict[str, Any]:
    """Return peak, lower bound and fragmentation of one chip's DRAM, and of each channel, for JSON."""
    whole = {"chip": use.chip, "peak_bytes": use.peak_bytes, "bound_bytes": use.bound_bytes, "room_bytes": use.room_bytes}
    channels = [asdict(channel) | {"fragmentation": round(channel.fragmentation, 4)} for channel in use.channels]
    return {**whole, "fragmentation": round(use.fragmentation, 4), "channels": channels}
