"""The cost of an epoch: the graphs that run at the same time, their ops as a pipeline with finite buffers.

The pipeline is simulated for a few microbatches (`simulate`); what its ops share, and the channels of DRAM most of all, also bounds the
interval between microbatches, however the simulation interleaves them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ttc.dialects.netlist.model import Graph, Host, Op
from ttc.runtime.perf.costs import OpCost, OpStreams, movement_of, op_cost
from ttc.runtime.perf.movement import Stream, passing_cycles, prologue_cycles, stream_cycles
from ttc.runtime.perf.rates import Rates
from ttc.runtime.perf.simulate import Network, Pipe, SimulatedStage, SimulationOutcome, simulate
from ttc.runtime.perf.traffic import OpInput, Traffic

GRANULES = 8
"""How many parts of a microbatch pass the pipeline one after another."""
WIDE_EPOCH = 96
"""The number of stages of one chip from which on half as many granules are taken."""
WORTH_SAYING = 0.05
"""The share of an interval that finite buffers must add to count as what limits an epoch."""
EXACT = 1e-9
"""The share of an interval by which a sum of cycles may be off."""
READ, WRITE, HOST = range(3)
"""What the stages of an epoch share: the ways from and to DRAM of each chip, the host's link."""


@dataclass(frozen=True, slots=True)
class Jam:
    """A deadlock of an epoch in words: the circle of waits, the buffer that is too small, and how many tiles it would take."""

    circle: tuple[str, ...]
    pipe: tuple[str, str] | None
    tiles: int
    needed_tiles: int | None

    def text(self) -> str:
        """Return one or two sentences that say what jams the epoch."""
        said = "; ".join(self.circle)
        if self.pipe is None:
            return said
        source, target = self.pipe
        if self.needed_tiles is None:
            return f"{said}: no size of the buffer between {source} and {target} lets them go on"
        return f"{said}: the buffers between {source} and {target} hold {self.tiles:,} tiles on a core and need {self.needed_tiles:,}"


@dataclass(frozen=True, slots=True)
class EpochCost:
    """The cycles of one epoch, and what they are made of.

    Args:
        graphs: that run in it; chips: that they use.
        ops: their costs.
        input_count: microbatches.
        slowest: name of the op that needs longest for a microbatch.
        limit: what bounds the interval: an op's limit, `dram` or `noc` for what ops share, `host`, `eth`, or `buffers`.
        interval: cycles between microbatches in the steady state; stall: how much of it finite buffers add.
        fill: cycles of the first microbatch through the pipeline; prologue: before it.
        simulated: microbatches that the simulation ran; steady: whether it showed a steady state.
        cycles: all microbatches, prologue included, the switch to the epoch not.
        channel, links: cycles a microbatch that the busiest DRAM channel and the links from DRAM are busy.
        dram_bytes: read and written in the whole epoch, prologue included; host_bytes: from and to host memory by its ops.
        begins, ends: of each op, in cycles from the start of the epoch: when its first microbatch begins and its last one ends.
        jam: why it never ends; cycles are those without the jam.
    """

    graphs: tuple[str, ...]
    chips: tuple[int, ...]
    ops: tuple[OpCost, ...]
    input_count: int
    slowest: str
    limit: str
    interval: float
    stall: float
    fill: float
    prologue: float
    cycles: float
    channel: float
    links: float
    dram_bytes: float
    host_bytes: float
    simulated: int
    steady: bool
    begins: tuple[float, ...] = ()
    ends: tuple[float, ...] = ()
    jam: Jam | None = None


def epoch_cost(graphs: Sequence[Graph], traffic: Traffic, rates: Rates, arch: str) -> EpochCost:
    """Return the cost of graphs that run at the same time, each on its own chip."""
    pairs = [(op, graph) for graph in graphs for op in graph.ops]
    readers = _readers(pairs, traffic)
    moves = [movement_of(op, graph, traffic, readers) for op, graph in pairs]
    costs = tuple(op_cost(op, graph, moved, rates, arch) for (op, graph), moved in zip(pairs, moves, strict=True))
    count = max((graph.input_count for graph in graphs), default=1)
    built = _Builder(pairs, costs, moves, rates, traffic)
    outcome = simulate(built.network(), count)
    shared = _shared(pairs, moves, traffic, rates)
    prologue = max((prologue_cycles(rates, _held(moves, pairs, graph)) for graph in graphs), default=0.0)
    ideal = max(max((cost.total for cost in costs), default=0.0), *shared.values())
    jam = None if outcome.deadlock is None else built.jam(outcome)
    fill = max(outcome.finished[0] if outcome.finished and jam is None else sum(cost.total for cost in costs), ideal)
    shown = outcome.interval if jam is None and len(outcome.finished) > 1 else 0.0
    interval = shown if shown > ideal * (1 + EXACT) else ideal
    ran = fill + interval * (count - 1) if jam is not None else max(outcome.total(count), fill + interval * (count - 1))
    slowest = max(costs, key=lambda cost: cost.total) if costs else None
    first = outcome.first[: len(costs)] if jam is None else tuple(fill for _ in costs)
    late = ran - outcome.total(count)  # where what ops share takes longer than the simulation shows
    last = [end + late for end in outcome.ends(count)[: len(costs)]] if jam is None else [ran for _ in costs]
    return EpochCost(
        graphs=tuple(graph.name for graph in graphs),
        chips=tuple(sorted({graph.chip for graph in graphs})),
        ops=costs,
        input_count=count,
        slowest=slowest.name if slowest is not None else "",
        limit=_limit(interval, ideal, slowest, shared),
        interval=interval,
        stall=max(interval - ideal, 0.0),
        fill=fill,
        prologue=prologue,
        cycles=prologue + ran,
        channel=shared["dram"],
        links=shared["noc"],
        dram_bytes=sum(cost.dram_bytes * count + cost.held_bytes for cost in costs),
        host_bytes=count * sum(s.total_bytes for moved in moves for s in _streams(moved) if s.kind == "host"),
        simulated=len(outcome.finished),
        steady=outcome.steady,
        begins=tuple(prologue + max(done - cost.busy, 0.0) for done, cost in zip(first, costs, strict=True)),
        ends=tuple(prologue + end for end in last),
        jam=jam,
    )


def _limit(interval: float, ideal: float, slowest: OpCost | None, shared: dict[str, float]) -> str:
    if interval > ideal * (1 + WORTH_SAYING):
        return "buffers"
    name = max(shared, key=lambda key: shared[key])
    if slowest is None or shared[name] >= slowest.total:
        return name
    return slowest.limit


def _readers(pairs: Sequence[tuple[Op, Graph]], traffic: Traffic) -> dict[str, list[tuple[str, OpInput]]]:
    """(reader, input) pairs of every op that other ops read."""
    found: dict[str, list[tuple[str, OpInput]]] = {}
    for op, graph in pairs:
        if isinstance(op.place, Host):
            continue
        for entry in traffic.inputs(op, graph):
            found.setdefault(entry.source, []).append((op.name, entry))
    return found


def _streams(moved: OpStreams) -> list[Stream]:
    return [entry.stream for entry in (*moved.inputs, *moved.outputs)]


def _held(moves: Sequence[OpStreams], pairs: Sequence[tuple[Op, Graph]], graph: Graph) -> list[Stream]:
    return [s for moved, (_, home) in zip(moves, pairs, strict=True) if home is graph for s in _streams(moved) if s.held]


def _shared(pairs: Sequence[tuple[Op, Graph]], moves: Sequence[OpStreams], traffic: Traffic, rates: Rates) -> dict[str, float]:
    """Return cycles a microbatch that the busiest channel of DRAM, the links from it, the host's link and Ethernet are busy."""
    channels: dict[tuple[int, int], float] = {}
    links: dict[tuple[int, bool], float] = {}
    ways: dict[tuple[int, int], float] = {}
    host = 0.0
    for (_, graph), moved in zip(pairs, moves, strict=True):
        ends = [(e.source, e.stream, False) for e in moved.inputs] + [(e.target, e.stream, True) for e in moved.outputs]
        for name, stream, writes in ends:
            if stream.held:
                continue
            if stream.kind == "dram":
                queue = traffic.netlist.queues[name]
                part = stream.total_bytes / max(len(queue.buffers), 1)
                for channel, _ in queue.buffers or ((0, 0),):
                    key = (graph.chip, channel)
                    channels[key] = channels.get(key, 0.0) + part / rates.dram_channel
                side = (graph.chip, writes)
                links[side] = links.get(side, 0.0) + stream.total_bytes / (rates.dram_links * rates.link)
            elif stream.kind == "host":
                host += stream.total_bytes / rates.host
            elif stream.kind == "chip":
                way = traffic.way(*_ends(name, graph, traffic))
                for a, b, _ in way or ((-1, -1, 0),):  # where the netlist does not say which links there are, all share all
                    ways[a, b] = ways.get((a, b), 0.0)
                for a, b, count in way:
                    ways[a, b] += stream.total_bytes / max(rates.eth * count, 1e-9)
                if not way:
                    ways[-1, -1] += stream_cycles(rates, stream)
    shared = (max(found.values(), default=0.0) for found in (channels, links, ways))
    return dict(zip(("dram", "noc", "eth"), shared, strict=True)) | {"host": host}


def _ends(name: str, graph: Graph, traffic: Traffic) -> tuple[int, int]:
    """Return the chips between which a stream of a graph passes.  name: of the queue that it writes, or the op that it reads."""
    queue = traffic.netlist.queues.get(name)
    if queue is not None:
        return graph.chip, queue.chip
    return traffic.ops[name][1].chip if name in traffic.ops else graph.chip, graph.chip


@dataclass
class _Builder:
    """Makes the network of an epoch: a stage for each op, one for each input that streams from DRAM or the host, one for each output."""

    pairs: Sequence[tuple[Op, Graph]]
    costs: Sequence[OpCost]
    moves: Sequence[OpStreams]
    rates: Rates
    traffic: Traffic
    resources: dict[tuple[int, int], int] = field(default_factory=dict)
    stages: list[SimulatedStage] = field(default_factory=list)
    pipes: list[Pipe] = field(default_factory=list)
    tiles: list[float] = field(default_factory=list)  # of the producer's microbatch, by pipe

    def __post_init__(self) -> None:
        stages: Counter[int] = Counter()
        for (_, graph), moved in zip(self.pairs, self.moves, strict=True):
            stages[graph.chip] += 1 + sum(not s.held and s.kind in ("dram", "host") for s in _streams(moved))
        self.granules = GRANULES // (2 if max(stages.values(), default=0) > WIDE_EPOCH else 1)

    def network(self) -> Network:
        """Return the network of stages and pipes that the epoch is."""
        number = {op.name: index for index, (op, _) in enumerate(self.pairs)}
        for (op, _), cost, moved in zip(self.pairs, self.costs, self.moves, strict=True):
            self.stages.append(SimulatedStage(op.name, cost.busy / self.granules, bursts=self.bursts(op, moved)))
        for index, ((op, graph), moved) in enumerate(zip(self.pairs, self.moves, strict=True)):
            for entry in moved.inputs:
                if entry.source in number:
                    self.pass_on(number[entry.source], index, entry, graph)
                elif not entry.stream.held and entry.stream.kind in ("dram", "host"):
                    way = self.edge(entry.source, entry.stream, READ, graph.chip)
                    self.join(way, index, max(entry.capacity, 1 / self.granules), op)
            for out in moved.outputs:
                self.join(index, self.edge(out.target, out.stream, WRITE, graph.chip), _out_capacity(op), op)
        nameless = tuple(replace(stage, name="") for stage in self.stages)  # layers that are alike are simulated once
        return Network(nameless, tuple(self.pipes), self.granules)

    def bursts(self, op: Op, moved: OpStreams) -> int:
        """Return how often results come out in a microbatch: with every granule, or at the end of each step of an op that sums up first."""
        if op.blocking is None or not any(entry.whole for entry in moved.inputs):
            return 0
        return max(min(op.blocking.t, self.granules), 1)

    def pass_on(self, source: int, index: int, entry: OpInput, graph: Graph) -> None:
        """Join two ops of the epoch.  Between chips each step takes its time, in which a microbatch may be on its way."""
        producer, home = self.pairs[source]
        reader = self.pairs[index][0].name
        steps = len(self.traffic.way(home.chip, graph.chip)) or self.traffic.steps.get((producer.name, reader), 0)
        delay = self.rates.eth_hop * steps
        self.join(source, index, entry.capacity + _out_capacity(producer) + bool(delay), producer, delay)

    def edge(self, name: str, stream: Stream, resource: int, chip: int) -> int:
        """A stage that reads or writes a queue, on a chip whose ways from and to DRAM are its own."""
        passing = passing_cycles(self.rates, stream) / self.granules
        own = stream_cycles(self.rates, stream) / self.granules - passing
        if stream.kind == "chip":
            self.stages.append(SimulatedStage(name, own))
        elif stream.kind == "host":
            self.stages.append(SimulatedStage(name, own, HOST, stream.total_bytes / self.rates.host / self.granules))
        else:
            rate = min(self.rates.dram_channels * self.rates.dram_channel, self.rates.dram_links * self.rates.link)
            number = self.resources.setdefault((chip, resource), HOST + 1 + len(self.resources))
            self.stages.append(SimulatedStage(name, own, number, stream.total_bytes / rate / self.granules, passing=passing))
        return len(self.stages) - 1

    def join(self, source: int, target: int, capacity: float, producer: Op, delay: float = 0.0) -> None:
        """A pipe whose buffers hold so many microbatches."""
        self.pipes.append(Pipe(source, target, max(int(capacity * self.granules + 1e-9), 1), delay))
        self.tiles.append(producer.blocking.tiles if producer.blocking is not None else 0)

    def jam(self, outcome: SimulationOutcome) -> Jam | None:
        """Return a deadlock in the names of ops and queues."""
        found = outcome.deadlock
        if found is None:
            return None
        names = [stage.name for stage in self.stages]
        verb = {"space": "waits for room in the buffers to", "data": "waits for data from"}
        circle = tuple(f"'{names[a]}' {verb[what]} '{names[b]}'" for a, what, b in found.waits)
        if found.pipe is None:
            return Jam(circle, None, 0, None)
        pipe, tiles = self.pipes[found.pipe], self.tiles[found.pipe]
        needed = None if found.needed is None else -(-round(found.needed * tiles) // self.granules)
        return Jam(circle, (f"'{names[pipe.source]}'", f"'{names[pipe.target]}'"), round(pipe.capacity * tiles / self.granules), needed)


def _out_capacity(op: Op) -> float:
    """Microbatches, or parts of one, that the output buffer of an op holds."""
    if op.blocking is None:
        return 1.0
    tiles = sum(buffer.tiles * buffer.copies for buffer in op.buffers if buffer.role == "out")
    return tiles / max(op.blocking.tiles, 1)
