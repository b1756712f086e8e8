"""When queues hold their values: epochs are the executes of a program, counted from 0 through its text."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Host
from ttc.dialects.netlist.ops import GraphOp, ProgramOp, QueueOp, graphs_of, programs_of, queues_of

KEPT = ("parameter", "constant", "state", "stash")
"""Kinds of queues that hold their value all the time."""
Span = tuple[int, int]
"""The first and the last epoch of a lifetime, both included."""


@record
class EpochTimeline:
    """A program in time.  graphs: those that it executes, in order; loops: epochs that each loop holds."""

    graphs: tuple[str, ...]
    loops: tuple[Span, ...]

    def stretched(self, first: int, last: int, *, outside: bool) -> Span:
        """Return the span from a first to a last use, stretched by loops: what a loop runs again must find what it found before.

        A loop that holds all uses of an edge writes it anew each time; outside: the host fills or reads the queue, once for all rounds.
        """
        uses = (first, last)
        for begin, end in self.loops:
            touches = any(begin <= use <= end for use in uses)
            whole = not outside and begin <= uses[0] and uses[1] <= end
            if touches and not whole:
                first, last = min(first, begin), max(last, end)
        return first, last


def timeline(program: ProgramOp) -> EpochTimeline:
    """Return the executes and loops of a program as epochs."""
    graphs: list[str] = []
    loops: list[Span] = []
    opened: list[int] = []
    for step in program.instructions():
        if step.opcode == "execute":
            graphs.append(str(step.args[0]))
        elif step.opcode == "loop":
            opened.append(len(graphs))
        elif step.opcode == "endloop" and opened:
            loops.append((opened.pop(), max(len(graphs) - 1, 0)))
    return EpochTimeline(tuple(graphs), tuple(loops))


def epochs_of(module: ModuleOp) -> dict[str, list[int]]:
    """Return the epochs in which each graph runs, of all programs."""
    found: dict[str, list[int]] = {}
    for program in programs_of(module).values():
        for epoch, name in enumerate(timeline(program).graphs):
            found.setdefault(name, []).append(epoch)
    return found


def rounds_of(module: ModuleOp) -> dict[str, int]:
    """Return how often loops run each graph in a call, as far as their counts are numbers; the most of all programs."""
    found: dict[str, int] = {}
    for program in programs_of(module).values():
        counts = [1]
        for step in program.instructions():
            if step.opcode == "loop":
                counts.append(counts[-1] * (step.args[0] if isinstance(step.args[0], int) else 1))
            elif step.opcode == "endloop" and len(counts) > 1:
                counts.pop()
            elif step.opcode == "execute":
                found[str(step.args[0])] = max(found.get(str(step.args[0]), 1), counts[-1])
    return found


def lifetimes(module: ModuleOp, *, static_ports: bool = False) -> dict[str, Span | None]:
    """Return the first and last epoch in which each queue must hold its value; None: always.

    Parameters, constants, states and stashes hold theirs always.  So do queues between chips, each of which goes at its own pace; and
    inputs and outputs if `static_ports`, and what is held while the host computes, whose part of a Buda netlist lies between its programs.
    Otherwise an input is held from the start of its program, an output to its end.
    """
    spans: dict[str, Span] = {}
    across: set[str] = set()
    graphs = graphs_of(module)
    for program in programs_of(module).values():
        line = timeline(program)
        end = max(len(line.graphs) - 1, 0)
        hosted = [epoch for epoch, name in enumerate(line.graphs) if static_ports and _on_host(graphs[name])]
        uses: dict[str, list[int]] = {}
        for epoch, name in enumerate(line.graphs):
            for port in (*graphs[name].reads, *graphs[name].writes):
                uses.setdefault(port.queue, []).append(epoch)
        inputs, outputs = ({queue for port in ports for queue in port.queues} for ports in (program.arguments, program.outputs))
        for name in dict.fromkeys((*uses, *inputs, *outputs)):
            outside = name in inputs or name in outputs
            epochs = uses.get(name, [0])
            first, last = line.stretched(min(epochs), max(epochs), outside=outside)
            span = (0 if name in inputs else first, end if name in outputs else last)
            if any(span[0] <= epoch <= span[1] for epoch in hosted):
                across.add(name)
            before = spans.get(name, span)
            spans[name] = (min(before[0], span[0]), max(before[1], span[1]))
    always = _between_chips(module) | across
    kept = (*KEPT, "input", "output") if static_ports else KEPT
    return {name: None if queue.kind in kept or name in always else spans.get(name, (0, 0)) for name, queue in queues_of(module).items()}


def _on_host(graph: GraphOp) -> bool:
    return any(isinstance(op.place, Host) for op in graph.ops)


def _between_chips(module: ModuleOp) -> set[str]:
    """Return queues that a graph on another chip writes."""
    queues: dict[str, QueueOp] = queues_of(module)
    return {
        write.queue
        for graph in graphs_of(module).values()
        for write in graph.writes
        if write.queue in queues and queues[write.queue].space == "dram" and queues[write.queue].chip not in (None, graph.chip)
    }


def horizon(spans: Sequence[Span | None]) -> int:
    """Return the number of epochs that lifetimes reach over; at least one."""
    return max((span[1] + 1 for span in spans if span is not None), default=1)
