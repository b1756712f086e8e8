"""When the epochs of a run begin: each core goes on to its next epoch by itself, as soon as its last op is through.

A core's firmware takes the commands of its own queue one after another (NCRISC of tt-budabackend): it loads its program and the weights
that its op holds (`loading`), with kernels `fused` ahead of time, and works when data is there.  An op reads entries of a queue as they
are written, where entries are not written over; memory that others still read is not written.  The ops of an epoch go on as soon as they
can, or take a microbatch with every interval where entries come late: the epoch takes as long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ttc.dialects.netlist.model import Graph, Netlist
from ttc.runtime.perf.costs import OpCost
from ttc.runtime.perf.epoch import GRANULES, EpochCost
from ttc.runtime.perf.loading import LEAST_LEFT, CoreTimes, load_of, loads_of, ready
from ttc.runtime.perf.rates import Rates
from ttc.runtime.perf.traffic import Traffic

Core = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class RunningEpoch:
    """An epoch of a run begins and ends at these cycles.

    start: when those before it on its chips end; origin: when its first op could begin, prologue over, which may be before that; end.
    """

    start: float
    origin: float
    end: float


@dataclass(frozen=True, slots=True)
class EntryTimes:
    """When the first and the last entry of a queue were written, or read, and how many entries those were."""

    first: float
    last: float
    entries: int

    def later(self, cycles: float) -> EntryTimes:
        """Return the same so many cycles later."""
        return EntryTimes(self.first + cycles, self.last + cycles, self.entries)

    def after(self, other: EntryTimes | None) -> EntryTimes:
        """Return when both uses are through with the first entry, and with the last."""
        return self if other is None else EntryTimes(max(self.first, other.first), max(self.last, other.last), self.entries)


@dataclass
class Clock:
    """When cores become free, when the last epoch of each chip was loaded, and when queues have been written and read."""

    traffic: Traffic
    rates: Rates
    cores: dict[Core, CoreTimes] = field(default_factory=dict)
    loads: dict[int, float] = field(default_factory=dict)
    written: dict[str, EntryTimes] = field(default_factory=dict)
    read: dict[str, EntryTimes] = field(default_factory=dict)
    ends: dict[int, float] = field(default_factory=dict)
    shares: dict[int, float] = field(default_factory=dict)
    moved: dict[int, float] = field(default_factory=dict)
    """Cycles that the ways from DRAM have taken for all that epochs of each chip loaded, read and wrote."""

    @property
    def netlist(self) -> Netlist:
        """Return what runs, whose streams are known."""
        return self.traffic.netlist

    @property
    def end(self) -> float:
        """When all chips are free."""
        return max(self.ends.values(), default=0.0)

    def run(self, graphs: Sequence[Graph], epoch: EpochCost) -> RunningEpoch:
        """Run an epoch as soon as its cores are free and loaded and what it reads is there."""
        begins = begins_of(epoch)
        ready = self.ready(epoch, begins)
        origin = max([moment - begins[i] for i, moment in ready.items()], default=0.0)
        if not ready:
            origin = max([origin, *(self.ends.get(chip, 0.0) for chip in epoch.chips)])
        ways = [(max(origin, self.passing(graphs, epoch, begins, ends)), ends) for ends in (ends_of(epoch), paced_ends(epoch))]
        origin, ends = min(ways, key=lambda way: way[0])
        for chip in epoch.chips:
            self.moved[chip] = self.moved.get(chip, 0.0) + taken_of(epoch)
            origin = max(origin, self.moved[chip] - (epoch.cycles - epoch.prologue))  # whatever epochs do beside each other
        end = origin + max([epoch.cycles - epoch.prologue, *ends])
        self.note(graphs, epoch, origin, ends, ready)
        start = max([self.ends.get(chip, 0.0) for chip in epoch.chips], default=0.0)
        for chip in epoch.chips:
            self.ends[chip] = max(end, start)
            self.shares[chip] = share_of(epoch)
        return RunningEpoch(start, origin, max(end, start))

    def passing(self, graphs: Sequence[Graph], epoch: EpochCost, begins: Sequence[float], ends: Sequence[float]) -> float:
        """Return the earliest origin of an epoch for what passes through queues, with such begins and ends of its ops."""
        numbers = {op.name: i for i, op in enumerate(epoch.ops)}
        moments = [0.0]
        for graph in graphs:
            for op in graph.ops:
                i = numbers[op.name]
                moments += [self.data(name, graph, begins[i], ends[i] - epoch.ops[i].total) for name in op.inputs]
            for source, name in graph.writes:
                i = numbers[source]
                moments.append(self.room(name, graph, begins[i], begins[i] + epoch.ops[i].busy, ends[i]))
        return max(moments)

    def ready(self, epoch: EpochCost, begins: Sequence[float]) -> dict[int, float]:
        """When the cores of each op are free and have their program and weights, by number of the op; ops without cores need none.

        begins: of the ops, by which cores load in turn.  What the run itself writes is not loaded ahead of time.
        """
        found: dict[int, float] = {}
        for chip in epoch.chips:
            numbers = [i for i, op in enumerate(epoch.ops) if op.cores and op.chip == chip]
            ops = [epoch.ops[i] for i in numbers]
            jobs = [load_of(op, self.rates, begins[i], ahead=not self.makes(op)) for i, op in zip(numbers, ops, strict=True)]
            cores = [[self.cores.get(core, CoreTimes()) for core in cores_of(op)] for op in ops]
            left, since = 1.0 - self.shares.get(chip, 0.0), self.loads.get(chip, 0.0) if self.rates.ahead else None
            done = ready(jobs, list(map(Counter, cores)), self.ends.get(chip, 0.0), left, since)
            self.loads[chip] = max([self.loads.get(chip, 0.0), *done])
            self.moved[chip] = self.moved.get(chip, 0.0) + loads_of(jobs)
            found |= {i: max(moment, *(core.free for core in own)) for i, moment, own in zip(numbers, done, cores, strict=True)}
        return {i: moment + self.rates.start_cycles for i, moment in found.items()}

    def makes(self, op: OpCost) -> bool:
        """Return whether something that an op loads has been written in this run."""
        return any(stream.held and stream.end in self.written for stream in op.streams)

    def data(self, name: str, graph: Graph, begin: float, last: float) -> float:
        """The earliest origin of an epoch for what an op reads from a queue; begin, last: of its first and last microbatch there."""
        found, queue = self.written.get(name), self.netlist.queues.get(name)
        if found is None or queue is None:
            return 0.0
        if queue.type == "queue" and found.entries == graph.input_count <= queue.entries:
            return max(found.first - begin, found.last - max(last, begin))
        return found.last - begin

    def room(self, name: str, graph: Graph, begin: float, first: float, last: float) -> float:
        """The earliest origin of an epoch for an op that writes a queue: what lay there has been read; entries of its own, one by one.

        begin: of the op's first microbatch; first, last: when it has its first and its last entry, all of them from the origin on.
        """
        moments = [0.0]
        for other in self.overlaps.get(name, (name,)):
            for use in (found for found in (self.read.get(other), self.written.get(other)) if found is not None):
                own = other == name and self.netlist.queues[name].type == "queue" and use.entries == graph.input_count
                moments.append(max(use.first - first, use.last - last) if own else use.last - begin)
        return max(moments)

    @cached_property
    def overlaps(self) -> dict[str, list[str]]:
        """For each queue that graphs write, those written queues whose buffers share memory with its own, itself among them."""
        spans: dict[tuple[str, int, int], list[tuple[int, int, str]]] = {}
        written = {name for graph in self.netlist.graphs.values() for _, name in graph.writes}
        for name in sorted(written):
            queue = self.netlist.queues[name]
            for channel, address in queue.buffers:
                spans.setdefault((queue.location, queue.chip, channel), []).append((address, address + queue.buffer_bytes, name))
        found: dict[str, set[str]] = {name: {name} for name in written}
        for lying in spans.values():
            open_: list[tuple[int, str]] = []
            for first, end, name in sorted(lying):
                open_ = [(last, other) for last, other in open_ if last > first]
                for _, other in open_:
                    found[name].add(other)
                    found[other].add(name)
                open_.append((end, name))
        return {name: sorted(others) for name, others in found.items()}

    def note(self, graphs: Sequence[Graph], epoch: EpochCost, origin: float, ends: Sequence[float], ready: Mapping[int, float]) -> None:
        """Write down when cores become free, and queues are read and written.  ready: when each op was loaded, by its number."""
        numbers = {op.name: i for i, op in enumerate(epoch.ops)}
        usable = self.netlist.chip.l1_usable_bytes if self.rates.ahead else 0
        for i, (op, end) in enumerate(zip(epoch.ops, ends, strict=True)):
            ahead = max(ready.get(i, 0.0), self.loads.get(op.chip, 0.0))
            self.cores |= dict.fromkeys(cores_of(op), CoreTimes(origin + end, ahead, usable - op.l1_bytes))
        for graph in graphs:
            for op in graph.ops:
                i = numbers[op.name]
                use = EntryTimes(origin + entry_of(epoch, i), origin + ends[i], graph.input_count)
                self.read |= {name: use.after(self.read.get(name)) for name in op.inputs if name in self.netlist.queues}
            for source, name in graph.writes:
                i = numbers[source]
                found = EntryTimes(origin + entry_of(epoch, i), origin + ends[i], graph.input_count)
                self.written[name] = found.later(self.crossing(graph, name))

    def crossing(self, graph: Graph, name: str) -> float:
        """Return cycles from when an op has an entry until it is in its queue: for each step to another chip."""
        queue = self.netlist.queues.get(name)
        if queue is None or queue.location != "dram" or queue.chip == graph.chip:
            return 0.0
        return self.rates.eth_hop * max(len(self.traffic.way(graph.chip, queue.chip)), 1)

    def wait(self, cycles: float) -> None:
        """Let all chips wait for so many cycles."""
        self.cores = {core: times.later(cycles) for core, times in self.cores.items()}
        self.read = {name: use.later(cycles) for name, use in self.read.items()}
        self.ends = {chip: time + cycles for chip, time in self.ends.items()}
        self.loads = {chip: time + cycles for chip, time in self.loads.items()}
        self.written = {name: use.later(cycles) for name, use in self.written.items()}


def begins_of(epoch: EpochCost) -> list[float]:
    """When each op begins to read its first microbatch, from the end of the epoch's prologue on."""
    reads = [max(op.dram_in, op.host_in) / GRANULES for op in epoch.ops]
    return [max(begin - epoch.prologue - read, 0.0) for begin, read in zip(epoch.begins, reads, strict=True)]


def ends_of(epoch: EpochCost) -> list[float]:
    """When each op ends its last microbatch if it goes on as soon as it can, from the end of the epoch's prologue on."""
    return [end - epoch.prologue for end in epoch.ends]


def paced_ends(epoch: EpochCost) -> list[float]:
    """When each op ends its last microbatch if it takes one with every interval of the epoch: nothing ends later by that."""
    ran, others = epoch.cycles - epoch.prologue, (epoch.input_count - 1) * epoch.interval
    paced = [min(begin - epoch.prologue + others + op.total, ran) for begin, op in zip(epoch.begins, epoch.ops, strict=True)]
    return list(map(max, ends_of(epoch), paced))


def entry_of(epoch: EpochCost, number: int) -> float:
    """When an op has computed its first microbatch, from the end of the epoch's prologue on."""
    return epoch.begins[number] - epoch.prologue + epoch.ops[number].busy


def share_of(epoch: EpochCost) -> float:
    """Return the part of the ways from DRAM that an epoch takes while it runs."""
    return min(taken_of(epoch) / max(epoch.cycles - epoch.prologue, 1.0), 1.0 - LEAST_LEFT)


def taken_of(epoch: EpochCost) -> float:
    """Return cycles that an epoch takes the ways from DRAM while it runs."""
    return max(epoch.channel, epoch.links) * epoch.input_count


def cores_of(op: OpCost) -> Iterable[Core]:
    """Return the cores of an op, as chip, row and column."""
    return ((op.chip, row, col) for row in range(op.row, op.row + op.rows) for col in range(op.col, op.col + op.cols))
