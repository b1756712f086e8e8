"""Programs that several groups of chips run on equal parts of a batch: from the graphs of the first group to those of all, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.dialects.netlist.check_queues import STORED
from ttc.dialects.netlist.instructions import executed_graphs
from ttc.dialects.netlist.model import Argument, Graph, Instruction, Netlist, Op, Program, Queue

OWN = ("name", "source", "chip", "buffers", "lifetime")
"""Fields of queues in which those of one replica differ from those of another."""


# ---- from one to all ---------------------------------------------------------------------------------------------------------------------


def replicated(netlist: Netlist, count: int, chips: Sequence[int]) -> Netlist:
    """Return a netlist whose programs run on further groups of chips, too: the same graphs, queues at the same addresses.

    What is constant in memory of the host is there once, all else once for each replica.  Executions of the replicas of a graph follow
    one another.

    Args:
        netlist: whose graphs lie on the first group, and whose arguments are for all groups together.
        count: of groups; chips: of all groups, one group after the other.
    Raises: E0608 for a number of chips that groups do not divide, E0503 if the host's memory is too small.
    """
    size = len(chips) // max(count, 1)
    if count < 1 or size * count != len(chips) or not chips:
        raise Error("E0608", f"{len(chips)} chips are not {count} groups of equal size")
    copies = [_Copy(netlist, n, dict(zip(chips[:size], chips[n * size :], strict=False))) for n in range(1, count)]
    queues = {name: replace(queue, lifetime=_stretched(queue.lifetime, count)) for name, queue in netlist.queues.items()}
    for copy in copies:
        queues |= {made.name: made for made in copy.queues(queues)}
    graphs = {made.name: made for graph in netlist.graphs.values() for made in (graph, *(copy.graph(graph) for copy in copies))}
    programs = {name: _spread(program, copies) for name, program in netlist.programs.items()}
    return replace(netlist, queues=queues, graphs=graphs, programs=programs)


def _stretched(lifetime: tuple[int, int] | None, count: int) -> tuple[int, int] | None:
    """Return a lifetime where each execution has become so many."""
    return None if lifetime is None else (lifetime[0] * count, lifetime[1] * count + count - 1)


def _spread(program: Program, copies: Sequence[_Copy]) -> Program:
    def everywhere(argument: Argument) -> Argument:
        return replace(argument, replicas=tuple(copy.names[argument.queue] for copy in copies))

    steps: list[Instruction] = []
    for step in program.instructions:
        steps.append(step)
        if step.opcode == "execute":
            steps += [replace(step, args=(copy.names[str(step.args[0])],)) for copy in copies]
    return replace(
        program,
        arguments=tuple(map(everywhere, program.arguments)),
        results=tuple(map(everywhere, program.results)),
        instructions=tuple(steps),
    )


@record(frozen=False)
class _Copy:
    """A further replica.  number: from 1; chips: of it, by that of the first replica; names: of its graphs, ops and queues, likewise."""

    netlist: Netlist
    number: int
    chips: Mapping[int, int]
    names: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        netlist = self.netlist
        ops = [op.name for graph in netlist.graphs.values() for op in graph.ops]
        taken = {*netlist.queues, *netlist.graphs, *ops}
        for name in (*netlist.queues, *netlist.graphs, *ops):
            own = f"{name}_r{self.number}"
            while own in taken:
                own += "_"
            self.names[name] = own
        shared = [q.name for q in netlist.queues.values() if q.location == "host" and q.kind in STORED]
        self.names |= {name: name for name in shared}

    def queues(self, first: Mapping[str, Queue]) -> Iterator[Queue]:
        """Yield the replica's own queues; in memory of the host behind those of the replicas before it."""
        ends = self._ends()
        for queue in first.values():
            name = self.names.get(queue.name, queue.name)
            if name == queue.name or queue.name not in self.netlist.queues:
                continue
            buffers = queue.buffers
            if queue.location == "host":
                buffers = tuple((channel, address + self.number * ends[channel]) for channel, address in buffers)
                self._require_room(queue, buffers)
            source = self.names.get(queue.source, queue.source)
            yield replace(queue, name=name, source=source, chip=self.chips.get(queue.chip, queue.chip), buffers=buffers)

    def _ends(self) -> dict[int, int]:
        """Return where memory of the host that the first replica holds ends, by channel."""
        unit = max(self.netlist.chip.alignment_bytes, 1)
        ends: dict[int, int] = {}
        for queue in self.netlist.queues.values():
            for channel, address in queue.buffers if queue.location == "host" else ():
                ends[channel] = max(ends.get(channel, 0), -(-(address + queue.buffer_bytes) // unit) * unit)
        return ends

    def _require_room(self, queue: Queue, buffers: Sequence[tuple[int, int]]) -> None:
        chip = self.netlist.chip
        if any(channel < chip.host_channels and address + queue.buffer_bytes > chip.host_channel_bytes for channel, address in buffers):
            message = f"memory of the host has no room for the queues of {self.number + 1} replicas"
            raise Error("E0503", message, where=f"queue '{queue.name}'", hint="fewer chips, or queues in dram")

    def graph(self, graph: Graph) -> Graph:
        """Return the replica's copy of a graph; works and blocks are those of the first."""
        names = self.names
        ops = tuple(replace(op, name=names[op.name], inputs=tuple(names.get(i, i) for i in op.inputs)) for op in graph.ops)
        writes = tuple((names[op], names[queue]) for op, queue in graph.writes)
        return replace(graph, name=names[graph.name], chip=self.chips.get(graph.chip, graph.chip), ops=ops, writes=writes)


# ---- from all to one -------------------------------------------------------------------------------------------------------------------


def replica_count(netlist: Netlist) -> int:
    """Return how many replicas all programs have, as their arguments say; 1 if they differ."""
    counts = {1 + len(port.replicas) for program in netlist.programs.values() for port in (*program.arguments, *program.results)}
    return counts.pop() if len(counts) == 1 else 1


def first_replica(netlist: Netlist) -> Netlist:
    """Return a netlist with the graphs of the first replicas alone, for their part of the batch, if all others are equal to them.

    Two are equal if they differ in names, chips and addresses alone, and share nothing but constants.  A netlist without replicas, or
    with others, is returned as it is.
    """
    count = replica_count(netlist)
    if count == 1:
        return netlist
    pairs = _Equals(netlist, count)
    programs = {name: made for name, program in netlist.programs.items() if (made := pairs.program(program)) is not None}
    if len(programs) < len(netlist.programs):
        return netlist
    graphs = {name: netlist.graphs[name] for program in programs.values() for name in executed_graphs(program)}
    used = {name for graph in graphs.values() for op in graph.ops for name in op.inputs} | {q for g in graphs.values() for _, q in g.writes}
    used |= {port.queue for program in programs.values() for port in (*program.arguments, *program.results)}
    queues = {n: replace(q, lifetime=_shrunk(q.lifetime, count)) for n, q in netlist.queues.items() if n in used}
    return replace(netlist, graphs=graphs, queues=queues, programs=programs)


def _shrunk(lifetime: tuple[int, int] | None, count: int) -> tuple[int, int] | None:
    return None if lifetime is None else (lifetime[0] // count, lifetime[1] // count)


def merged(netlist: Netlist) -> Netlist:
    """Return a netlist in which the first replicas compute the whole batch, if all others are equal to them; else the netlist itself."""
    first = first_replica(netlist)
    if first is netlist:
        return netlist
    count = replica_count(netlist)
    graphs = {name: replace(graph, input_count=graph.input_count * count) for name, graph in first.graphs.items()}
    whole = {port.queue for program in first.programs.values() for port in program.arguments if not port.streamed}
    queues = {name: _for_all(queue, count, whole=name in whole) for name, queue in first.queues.items()}
    programs = {name: _whole(program, netlist.programs[name]) for name, program in first.programs.items()}
    return replace(first, graphs=graphs, queues=queues, programs=programs)


def _for_all(queue: Queue, count: int, *, whole: bool) -> Queue:
    """Return a queue for the microbatches of so many replicas.  whole: each of them reads all that it holds."""
    if whole:
        return replace(queue, type="ram")
    return replace(queue, entries=queue.entries * count) if queue.type == "queue" else queue


def _whole(first: Program, program: Program) -> Program:
    """Return the program of a first replica with the shapes of all."""
    arguments, results = (tuple(replace(port, replicas=()) for port in ports) for ports in (program.arguments, program.results))
    return replace(first, arguments=arguments, results=results)


@record(frozen=False)
class _Equals:
    """Compares the first replicas of a netlist with the others.

    names: for each further replica, its own name of each graph, op and queue of the first; owned: queues of further replicas.
    """

    netlist: Netlist
    count: int
    names: list[dict[str, str]] = field(default_factory=list)
    owned: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.names = [{} for _ in range(1, self.count)]

    def program(self, program: Program) -> Program | None:
        """Return the program of the first replica; None if another differs from it."""
        ports = (*program.arguments, *program.results)
        if not all(self.queues(port.queue, port.replicas) and port.updates is None for port in ports):
            return None
        steps: list[Instruction] = []
        rest = list(program.instructions)
        while rest:
            step, *others = rest[: self.count] if rest[0].opcode == "execute" else rest[:1]
            if step.opcode == "execute":
                names = [str(other.args[0]) for other in others if other.opcode == "execute" and not other.settings]
                if len(names) < self.count - 1 or not self.graphs(str(step.args[0]), names):
                    return None
            steps.append(step)
            del rest[: 1 + len(others)]
        share = [tuple(_share(port, self.count) for port in some) for some in (program.arguments, program.results)]
        return replace(program, arguments=share[0], results=share[1], instructions=tuple(steps))

    def queues(self, name: str, others: Sequence[str]) -> bool:
        """Return whether queues are those that further replicas have instead of one of the first."""
        return all(self.queue(name, other, number) for number, other in enumerate(others))

    def queue(self, name: str, other: str, number: int) -> bool:
        """Return whether a further replica has one queue instead of another."""
        known = self.names[number].get(name)
        if known is not None:
            return known == other
        first, own = self.netlist.queues.get(name), self.netlist.queues.get(other)
        if first is None or own is None:
            return False
        self.names[number][name] = other
        if name == other:
            return first.kind in STORED
        if other in self.owned or first.kind == "state" or replace(own, **{key: getattr(first, key) for key in OWN}) != first:
            return False
        self.owned.add(other)
        return True

    def graphs(self, name: str, others: Sequence[str]) -> bool:
        """Return whether graphs are those that further replicas have instead of one of the first."""
        return all(self.graph(self.netlist.graphs[name], self.netlist.graphs[other], n) for n, other in enumerate(others))

    def graph(self, first: Graph, own: Graph, number: int) -> bool:
        """Return whether a graph of a further replica does what one of the first does, with what the replica has instead."""
        names = self.names[number]
        if first.name in names:
            return names[first.name] == own.name
        sizes = [(len(g.ops), len(g.writes), g.input_count, g.epoch, g.settings) for g in (first, own)]
        if sizes[0] != sizes[1] or first.name == own.name:
            return False
        names[first.name] = own.name
        if not all(self.op(a, b, number) for a, b in zip(first.ops, own.ops, strict=True)):
            return False
        pairs = zip(first.writes, own.writes, strict=True)
        return all(names.get(a) == b and p != q and self.queue(p, q, number) for (a, p), (b, q) in pairs)

    def op(self, first: Op, own: Op, number: int) -> bool:
        """Return whether an op of a further replica computes the same on what the replica has instead."""
        names = self.names[number]
        if len(first.inputs) != len(own.inputs) or replace(own, name=first.name, inputs=first.inputs) != first:
            return False
        names[first.name] = own.name
        return all(
            self.queue(a, b, number) if a in self.netlist.queues else names.get(a) == b
            for a, b in zip(first.inputs, own.inputs, strict=True)
        )


def _share(port: Argument, count: int) -> Argument:
    """Return the argument of one replica."""
    shape = port.batch.resized(port.shape, count, 1) if port.streamed else port.shape
    return replace(port, shape=shape, replicas=())
