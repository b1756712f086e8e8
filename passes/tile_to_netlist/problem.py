"""What is to be placed: the ops of a graph with their candidates, what passes between them, and the machine's time for it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.machines.targets import Target
from ttc.dialects.core.records import record
from ttc.passes.tile_to_netlist.blocking import Blockings, Candidate
from ttc.passes.tile_to_netlist.filling import filled
from ttc.passes.tile_to_netlist.limits import PlacementLimits
from ttc.passes.tile_to_netlist.turns import Turn
from ttc.runtime.perf.movement import Stream, stream_load
from ttc.runtime.perf.ports import has_ways, likely_rate
from ttc.runtime.perf.rates import Rates, rates_of

FIGURES = ("busy", "first", "streamed_bytes", "held_bytes", "cores")
"""The fields of a candidate that estimates need."""


def figures_of(chosen: Sequence[Candidate]) -> NDArray[np.float64]:
    """Return the figures of candidates: `FIGURES` x candidates."""
    return np.array([[getattr(candidate, name) for candidate in chosen] for name in FIGURES], np.float64)


@record
class ProblemNode:
    """An op that is to be placed, as the search sees it.

    Args:
        found: its candidates.
        kind: equal for ops with equal candidates.
        reads: ops before it whose results it reads, by number, each once.
        queue_bytes: that it reads from queues for each microbatch, besides weights.
        result_bytes: of its result, a microbatch.
        stored: whether its result goes to a queue wherever graphs are cut.
        limits: what the user asks for.
        breaks: whether an epoch must begin with it.
    """

    found: Blockings
    kind: Hashable
    reads: tuple[int, ...] = ()
    queue_bytes: int = 0
    result_bytes: int = 0
    stored: bool = False
    limits: PlacementLimits = field(default_factory=PlacementLimits)
    breaks: bool = False


@record
class QueueTraffic:
    """The bytes that an epoch reads from queues and writes to them for each microbatch, besides weights."""

    read_bytes: int
    write_bytes: int


@record
class Problem:
    """Ops in an order that keeps dependences, to be cut into epochs.

    Args:
        nodes: the ops.
        target: the machine.
        input_count: microbatches that pass through each epoch.
        turns: chips, or groups of them, that take the epochs in turn.
        loads: whether L1 holds weights from before a single microbatch on.
        divided: whether chips divide the tensors of ops, so that one of these waits for another most of the time.
        overlap: the part of what epochs could share of their time that they are taken to share, as a `Turn` has it.
    """

    nodes: Sequence[ProblemNode]
    target: Target
    input_count: int
    turns: int = 1
    overlap: float = 0.0
    loads: bool = False
    divided: bool = False

    @cached_property
    def rates(self) -> Rates:
        return rates_of(self.target)

    @cached_property
    def grid(self) -> tuple[int, int]:
        return self.target.grid or (0, 0)

    @property
    def cores(self) -> int:
        return self.grid[0] * self.grid[1]

    @property
    def holds(self) -> bool:
        """Return whether L1 holds weights from before the first microbatch on; otherwise they come while earlier ops compute."""
        return self.input_count > 1 or self.loads

    @cached_property
    def last_reader(self) -> list[int]:
        """The number, for each op, of the last op that reads its result; its own where none does."""
        last = list(range(len(self.nodes)))
        for number, node in enumerate(self.nodes):
            for source in node.reads:
                last[source] = number
        return last

    @cached_property
    def cycles_per_byte(self) -> float:
        """The cycles that DRAM, or the links from it, takes for a byte that all channels share in."""
        return stream_load(self.rates, self.dram_stream(1 << 20)).cycles / (1 << 20)

    @cached_property
    def load_cycles_per_byte(self) -> float:
        """The cycles of a byte that L1 holds before the first microbatch: where ports are going to be chosen, DRAM's own."""
        if self.holds and self.rates.ahead and has_ways(self.target):
            return 1.0 / likely_rate(self.rates, self.target.dram_channels, self.cores)
        return self.cycles_per_byte

    def dram_stream(self, size: float) -> Stream:
        """Return bytes from all channels of DRAM."""
        return Stream("dram", size, size, channels=self.target.dram_channels)

    def traffic(self, begin: int, longest: int) -> list[QueueTraffic]:
        """Return the traffic of the epochs that begin with an op, by their number of ops from 1 to at most `longest`."""
        found: list[QueueTraffic] = []
        read = written = 0
        end = min(begin + longest, len(self.nodes))
        for number in range(begin, end):
            node = self.nodes[number]
            read += node.queue_bytes + sum(self.nodes[s].result_bytes for s in node.reads if s < begin)
            if node.stored or self.last_reader[number] > number:
                written += node.result_bytes
            for source in node.reads:
                if source >= begin and self.last_reader[source] == number and not self.nodes[source].stored:
                    written -= self.nodes[source].result_bytes
            found.append(QueueTraffic(read, written))
        return found

    def time(self, begin: int, chosen: Sequence[Candidate]) -> float:
        """Return the estimated cycles by which an epoch of these candidates, from an op on, makes the run longer."""
        return float(self.times(begin, figures_of(chosen)[:, :, None])[0])

    def times(self, begin: int, figures: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what `time` does for each of several options.  figures: `FIGURES` x ops x options."""
        count = figures.shape[1]
        traffic = self.traffic(begin, count)[-1]
        busy, first = figures[:2]
        streamed, held, cores = figures[2:].sum(axis=1)
        before, beside = (held, streamed) if self.holds else (np.zeros_like(held), streamed + held)
        load = (traffic.read_bytes + traffic.write_bytes + beside) * self.cycles_per_byte
        interval = np.maximum(busy.max(axis=0) + self.rates.microbatch_cycles, load)
        reads = [node.reads for node in self.nodes[begin : begin + count]]
        fill = np.maximum(filled(reads, begin, busy, first)[-1], load)
        return self.turn(begin, count).time(fill, interval, cores, before * self.load_cycles_per_byte, load)

    def turn(self, begin: int, count: int) -> Turn:
        """Return where an epoch of so many ops, from one of them on, stands in the run."""
        return Turn(self.rates, self.input_count, begin == 0, begin + count == len(self.nodes), self.overlap, self.turns)

    def is_whole(self, begin: int, count: int) -> bool:
        """Return whether an epoch of so many ops, from one of them on, is the only one.

        It waits for the programs of all its cores; those of further epochs load while the one before runs.
        """
        return begin == 0 and count == len(self.nodes)
