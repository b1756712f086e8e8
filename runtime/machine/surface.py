"""What a session needs to know of a netlist: its programs, and the queues of their graphs, without what the graphs compute."""

from __future__ import annotations

from collections.abc import Iterable

from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.core.records import record
from ttc.dialects.netlist.instructions import executed_graphs
from ttc.dialects.netlist.model import Graph, Netlist, Program, Queue
from ttc.runtime.engines.base import bound_queues


@record(slots=True)
class Channel:
    """A queue from outside; fields as in `netlist.model.Queue`.

    shown: whether it shows another queue's memory, or entries change on their way into it.
    summed: whether what the microbatches of an execution write adds up.
    """

    name: str
    kind: str
    type: str
    tensor: TensorType
    entries: int
    key: str | None
    shown: bool
    summed: bool


@record(slots=True)
class GraphPorts:
    """A graph from outside: which queues it reads and writes.

    Args:
        chip: that runs it.
        input_count: microbatches of an execution.
        reads: queues whose entries change between runs, in the order of first use.
        writes: queues, once for each op that writes to one.
    """

    name: str
    chip: int
    input_count: int
    reads: tuple[str, ...]
    writes: tuple[str, ...]


@record
class Surface:
    """Programs, the graphs that they execute, and the queues of both, by name."""

    queues: dict[str, Channel]
    graphs: dict[str, GraphPorts]
    programs: dict[str, Program]

    def ports(self, program: str) -> list[GraphPorts]:
        """Return the graphs that a program executes, each once."""
        return [self.graphs[name] for name in executed_graphs(self.programs[program])]

    def used(self, program: str) -> dict[str, None]:
        """Return queues that a program's graphs, arguments and results use."""
        entry = self.programs[program]
        arguments = [queue for argument in (*entry.arguments, *entry.results) for queue in argument.queues]
        return dict.fromkeys([*arguments, *(name for port in self.ports(program) for name in (*port.reads, *port.writes))])

    def shared(self) -> list[str]:
        """Return queues that some programs fill and others read."""
        return [name for name, queue in self.queues.items() if queue.kind == "stash"]

    def of(self, programs: Iterable[str]) -> Surface:
        """Return the part that some of the programs need."""
        chosen = {name: self.programs[name] for name in programs}
        graphs = {port.name: port for name in chosen for port in self.ports(name)}
        used = {queue: self.queues[queue] for name in chosen for queue in self.used(name)}
        return Surface(used, graphs, chosen)


def surface_of(netlist: Netlist) -> Surface:
    """Return the surface of a checked netlist."""
    graphs = {name: _ports(graph, netlist) for name, graph in netlist.graphs.items()}
    queues = {name: _channel(queue) for name, queue in netlist.queues.items()}
    return Surface(queues, graphs, netlist.programs).of(netlist.programs)


def _channel(queue: Queue) -> Channel:
    shown = queue.alias is not None or queue.view is not None
    return Channel(queue.name, queue.kind, queue.type, queue.tensor, queue.entries, queue.key, shown, queue.summed)


def _ports(graph: Graph, netlist: Netlist) -> GraphPorts:
    return GraphPorts(graph.name, graph.chip, graph.input_count, bound_queues(graph, netlist), tuple(queue for _, queue in graph.writes))
