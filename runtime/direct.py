"""Entry programs that are one graph run once: they need no queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.netlist.model import Argument, Netlist, Program, Queue
from ttc.runtime.arguments import entries_of, from_entries, inputs_of, outputs_of, to_entries
from ttc.runtime.engines.base import HELD, bound_queues


@dataclass(frozen=True)
class DirectEntry:
    """What a run of such a program takes.

    Args:
        graph: that it executes.
        inputs, outputs: arguments with their queues, in order.
    """

    graph: str
    inputs: Sequence[tuple[Argument, Queue]]
    outputs: Sequence[Argument]

    def entries(self, given: Mapping[str, object]) -> dict[str, NDArray]:
        """The user's arrays as entries, by queue.  Raises E0801, E0802."""
        return {a.queue: to_entries(a, queue, given[a.name])[0] for a, queue in self.inputs}

    def results(self, written: Mapping[str, NDArray], entries: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """What the graph wrote as the user's arrays: its own where nobody else has them, else copies."""
        taken = {id(entry) for entry in entries.values()}
        found: dict[str, NDArray] = {}
        for result in self.outputs:
            value = written[result.queue]
            own = value.base is None and value.flags.writeable and id(value) not in taken
            if own and value.dtype == np.dtype(result.dtype) and value.flags.c_contiguous and -1 not in result.shape:
                taken.add(id(value))
                found[result.name] = value.reshape(result.shape) if value.shape != result.shape else value
            else:
                found[result.name] = from_entries(result, [value])
        return found


def direct_entry(program: Program, netlist: Netlist) -> DirectEntry | None:
    """How to run a program without queues; None where it needs them: several graphs or microbatches, states, updates."""
    if len(program.instructions) != 1 or program.instructions[0].opcode != "execute":
        return None
    graph = netlist.graphs[str(program.instructions[0].args[0])]
    inputs = [(a, netlist.queues[a.queue]) for a in inputs_of(program)]
    outputs = outputs_of(program)
    given, written = {a.queue for a, _ in inputs}, [queue for _, queue in graph.writes]
    kinds = {netlist.queues[name].kind for name in (*bound_queues(graph, netlist), *written)}
    simple = (
        graph.input_count == 1
        and len(outputs) == len(program.results)
        and not kinds & {"state", *HELD}
        and given.issuperset(bound_queues(graph, netlist))
        and len(set(written)) == len(written)
        and all(result.queue in written for result in outputs)
        and all(entries_of(a, queue) == 1 for a, queue in inputs)
        and not any(netlist.queues[name].alias or netlist.queues[name].view for name in (*given, *written))
    )
    return DirectEntry(graph.name, inputs, outputs) if simple else None
