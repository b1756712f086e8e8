"""The time of an epoch before it is made: its ops, as they would be placed, costed by the performance model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from math import inf

from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.locations import source_names, where
from ttc.dialects.core.ir.to_plain import plain_block, plain_type
from ttc.dialects.core.plain.functions import Function, TensorType
from ttc.dialects.core.records import record
from ttc.dialects.netlist.chips import chip
from ttc.dialects.netlist.model import Graph, Grid, Netlist, Op, Queue
from ttc.dialects.netlist.ops import GraphOp, NetlistOp, QueueOp, ReadOp
from ttc.passes.base import Unit
from ttc.passes.netlist.size_queues import spread
from ttc.passes.netlist.view import own_buffers
from ttc.passes.tile_to_netlist.epochs import EpochRange, PackingVerdict, Placed
from ttc.passes.tile_to_netlist.following import timing_of
from ttc.passes.tile_to_netlist.forks import ForkMember, buffered, enlarge, held, waits
from ttc.passes.tile_to_netlist.limits import PlacementLimits
from ttc.passes.tile_to_netlist.turns import Turn
from ttc.runtime.perf.clock import begins_of
from ttc.runtime.perf.epoch import GRANULES, EpochCost, epoch_cost
from ttc.runtime.perf.op import work_key
from ttc.runtime.perf.ports import has_ways
from ttc.runtime.perf.rates import rates_of
from ttc.runtime.perf.reads import ReadTable
from ttc.runtime.perf.traffic import Traffic, grid_cores

MARGINS = (1.0, 2.0)
"""Numbers of microbatches that buffers of shorter paths get room for, beyond what waits there."""
TOLERATED = 0.03
"""The part of an interval that waiting for room may take before larger buffers are tried."""


@record(frozen=False)
class Trial:
    """Epochs of one graph on trial.

    Args:
        unit: what is compiled.
        graph: that is to be cut; ops: of it, in order.
        given: queues by name.
        limits: what the user asks of ops, by number.
        loads: whether cores load weights before a single microbatch.
        steps: from chip to chip on which results pass where chips share the ops, by the names of writer and reader.
    """

    unit: Unit
    graph: GraphOp
    ops: Sequence[NetlistOp]
    given: dict[str, QueueOp]
    limits: Mapping[int, PlacementLimits] = field(default_factory=dict)
    loads: bool = False
    steps: Mapping[tuple[str, str], int] = field(default_factory=dict)
    plain: list[Op] = field(default_factory=list)
    queues: dict[str, Queue] = field(default_factory=dict)
    writes: dict[str, list[str]] = field(default_factory=dict)
    last_reader: dict[str, int] = field(default_factory=dict)
    costs: dict[object, EpochCost] = field(default_factory=dict)
    works: dict[object, Function] = field(default_factory=dict)
    reads: ReadTable = field(default_factory=ReadTable)

    def __post_init__(self) -> None:
        self.machine = chip(self.unit.target)
        for number, op in enumerate(self.ops):
            inputs = tuple(self.source(value) for value in op.operands)
            self.plain.append(self.made(op, inputs))
            self.queues[f"{op.sym}>"] = self.queue(f"{op.sym}>", "queue", plain_type(op.result.type), "dram")
            for name in inputs:
                self.last_reader[name] = number
        for write in self.graph.writes:
            if isinstance(write.value.owner, NetlistOp):
                self.writes.setdefault(write.value.owner.sym, []).append(write.queue)
                self.add_queue(write.queue, plain_type(write.value.type))

    def source(self, value: SSAValue) -> str:
        """Return the queue or op that a value comes from."""
        owner = value.owner
        if isinstance(owner, ReadOp):
            self.add_queue(owner.queue, plain_type(value.type))
            return owner.queue
        return owner.sym if isinstance(owner, NetlistOp) else ""

    def add_queue(self, name: str, tensor: TensorType) -> None:
        """Add a queue of the module as it is going to lie."""
        type_ = self.given[name].type if name in self.given else "queue"
        self.queues.setdefault(name, self.queue(name, type_, tensor, "host" if tensor.layout == "rows" else "dram"))

    def queue(self, name: str, type_: str, tensor: TensorType, space: str) -> Queue:
        """Return a queue over all channels, as far as it has tiles."""
        channels = self.unit.target.dram_channels
        grid, blocking = ((1, 1), None) if tensor.layout == "rows" else spread(tensor, channels)
        first = len(self.queues)  # queues begin in one channel after another
        buffers = tuple(((first + i) % channels, 0) for i in range(grid[0] * grid[1]))
        return Queue(name, "edge", type_, "", tensor, 1, space, 0, grid, blocking, buffers, 0)  # pyright: ignore[reportArgumentType]

    def made(self, op: NetlistOp, inputs: tuple[str, ...]) -> Op:
        """Return a plain op that has no place yet."""
        work = plain_block(op.work.block)
        work = self.works.setdefault(work_key(work), work)
        default = Op("", "", (), Grid(0, 0, 1, 1), None, work)
        return Op(
            op.sym,
            op.type,
            inputs,
            default.place,
            None,
            work,
            intermediate=op.intermediate or default.intermediate,
            accumulate=op.accumulate or default.accumulate,
            fidelity=op.fidelity or default.fidelity,
            location=source_names(op.location),
            settings=op.settings or (),
        )

    def judge(self, turn: Turn, begin: int, placed: Sequence[Placed]) -> PackingVerdict:
        """Return the ops with the buffers that joined paths need, and the cycles by which their epoch makes the run longer.

        An epoch that would come to a standstill takes forever.
        """
        cores = sum(entry.candidate.cores for entry in placed)
        ops = self.placed_ops(begin, placed)
        members = [self.roomy(begin + i, member, placed[i]) for i, member in enumerate(self.members(begin, ops))]
        best = PackingVerdict(tuple(placed), inf)
        for margin in MARGINS if waits(members) else MARGINS[:1]:
            buffers, short = buffered(members, margin)
            cost = self.cost(begin, [replace(op, buffers=found) for op, found in zip(ops, buffers, strict=True)])
            figures = (cost.fill, cost.interval, cores, cost.prologue, max(cost.channel, cost.links))
            crossing = self.crossing(ops)
            cycles = float(turn.time(*figures, lead_of(ops, cost))) + crossing if cost.jam is None else inf
            waiting = cost.jam is not None or cost.stall > cost.interval * TOLERATED
            if cycles < best.cycles or best.cycles == inf:
                final = tuple(replace(entry, buffers=found) for entry, found in zip(placed, buffers, strict=True))
                timing = timing_of(cost, turn.rates, self.unit.target.l1_usable_bytes, crossing)
                best = PackingVerdict(final, cycles, tuple(short) if waiting else (), timing)
            if not waiting or short:
                break
        return best

    def crossing(self, ops: Sequence[Op]) -> float:
        """Return cycles that results of epochs before take from chip to chip, where chips share the ops."""
        steps = (self.steps.get((name.removesuffix(">"), op.name), 0) for op in ops for name in op.inputs if name.endswith(">"))
        return rates_of(self.unit.target).eth_hop * max(steps, default=0)

    def roomy(self, number: int, member: ForkMember, entry: Placed) -> ForkMember:
        """Return an op of an epoch with room for as many microbatches as a rule asks for. Raises E0504 if L1 is too small for it."""
        limits = self.limits.get(number)
        if limits is None or limits.buffer is None:
            return member
        buffers, free = list(member.buffers), member.free_bytes
        for _, operand, tiles in member.reads:
            role = f"in{operand}"
            lacking = limits.buffer - held(buffers, role, tiles)
            gained, free = enlarge(buffers, role, tiles, lacking, free)
            if gained < lacking:
                usable = self.unit.target.l1_usable_bytes
                grid = f"{entry.place.rows} x {entry.place.cols} cores"
                what = f"{limits.buffer} microbatches of {tiles:.0f} tiles each beside their other buffers in {usable:,} bytes of L1"
                hint = f"they hold {held(buffers, role, tiles):.1f}; a larger grid holds more"
                raise Error("E0504", f"{grid} cannot hold {what}, as asked ({limits.text})", where=where(self.ops[number]), hint=hint)
        return replace(member, buffers=tuple(buffers), free_bytes=free)

    def placed_ops(self, begin: int, placed: Sequence[Placed]) -> list[Op]:
        """Return the plain ops of an epoch at their places; what comes from outside comes from queues."""
        inside = {op.sym for op in self.ops[begin : begin + len(placed)]}
        found: list[Op] = []
        for number, entry in enumerate(placed, begin):
            op, candidate = self.plain[number], entry.candidate
            inputs = tuple(name if name in inside or name in self.queues else f"{name}>" for name in op.inputs)
            buffers = own_buffers(self.ops[number], candidate.buffers)
            found.append(replace(op, inputs=inputs, place=entry.place, blocking=candidate.blocking, buffers=buffers, inner=candidate.inner))
        return found

    def members(self, begin: int, ops: Sequence[Op]) -> list[ForkMember]:
        """Return the ops of an epoch as waiting depends on them."""
        numbers = {op.name: number for number, op in enumerate(ops)}
        found: list[ForkMember] = []
        for op in ops:
            found_reads = enumerate(zip(op.inputs, self.reads.of(op), strict=False))
            reads = [(source, i, read) for i, (source, read) in found_reads if read is not None]
            steps = op.blocking.t if op.blocking is not None else 1
            lag = 1.0 / (min(steps, GRANULES) if any(read.part.whole for _, _, read in reads) else GRANULES)
            free = self.unit.target.l1_usable_bytes - sum(b.size_bytes for b in op.buffers)
            inner = tuple((numbers[source], i, read.tiles) for source, i, read in reads if source in numbers)
            found.append(ForkMember(inner, lag, op.blocking.tiles if op.blocking is not None else 1, op.buffers, free, grid_cores(op)))
        return found

    def cost(self, begin: int, ops: Sequence[Op]) -> EpochCost:
        """Return what the epoch of these ops costs, the switch to it not included.  Equal epochs, wherever they lie, are costed once."""
        key = (
            begin,
            tuple((op.place.rows, op.place.cols, id(op.blocking), op.buffers, op.inner) for op in ops if isinstance(op.place, Grid)),
        )
        if key not in self.costs:
            self.costs[key] = self.costed(begin, ops)
        return self.costs[key]

    def review(self, epochs: Sequence[EpochRange]) -> list[EpochRange] | None:
        """Return the epochs of a whole run timed anew: what one reads of another lies as that computes it.

        None if one comes to a standstill.
        """
        known: dict[str, Op] = {}
        found: list[EpochRange] = []
        for epoch in epochs:
            ops = [replace(op, buffers=entry.buffers) for op, entry in zip(self.placed_ops(epoch.begin, epoch.ops), epoch.ops, strict=True)]
            cost = self.costed(epoch.begin, ops, known)
            if cost.jam is not None:
                return None
            timing = timing_of(cost, rates_of(self.unit.target), self.unit.target.l1_usable_bytes, self.crossing(ops))
            found.append(replace(epoch, timing=timing))
            known |= {op.name: op for op in ops}
        return found

    def costed(self, begin: int, ops: Sequence[Op], known: Mapping[str, Op] | None = None) -> EpochCost:
        """Return what the epoch of these ops costs.  known: ops of epochs before it whose places are known, by name."""
        queues, channels = dict(self.queues), self.unit.target.dram_channels
        read = {name: name.removesuffix(">") for op in ops for name in op.inputs if name.endswith(">")}
        queues |= {name: written(queues[name], known[source], channels, 0) for name, source in read.items() if known and source in known}
        writes: list[tuple[str, str]] = []
        first = 0
        for op in ops:
            targets = list(self.writes.get(op.name, ()))
            if self.last_reader.get(op.name, -1) >= begin + len(ops):
                targets.append(f"{op.name}>")
            for name in targets:
                queues[name] = written(queues[name], op, channels, first)
                first += grid_cores(op)
                writes.append((op.name, name))
        graph = Graph("trial", 0, self.graph.input_count, tuple(ops), tuple(writes))
        netlist = Netlist(self.machine, queues, {"trial": graph})
        routed = self.unit.target.kernels == "fused" and has_ways(self.unit.target)
        traffic = Traffic(netlist, reads=self.reads, routed=routed, loads=self.loads, steps=self.steps)
        return epoch_cost([graph], traffic, rates_of(self.unit.target), self.unit.target.arch)


def lead_of(ops: Sequence[Op], cost: EpochCost) -> float:
    """Return cycles from the start of an epoch in which its ops need nothing that epochs before it compute: weights alone come then."""
    outside = [number for number, op in enumerate(ops) if any(name.endswith(">") for name in op.inputs)]
    begins = begins_of(cost)
    return min((begins[number] for number in outside), default=0.0)


def written(queue: Queue, op: Op, channels: int, first: int) -> Queue:
    """Return a queue that an op writes, as the op computes it: a buffer a core, in one channel after another from the first on."""
    if queue.location != "dram" or not isinstance(op.place, Grid):
        return queue
    buffers = tuple(((first + i) % channels, 0) for i in range(op.place.rows * op.place.cols))
    return replace(queue, grid=(op.place.rows, op.place.cols), blocking=op.blocking, buffers=buffers)
