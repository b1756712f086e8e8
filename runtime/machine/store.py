"""The memory of a session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from numpy.typing import NDArray

from ttc.dialects.netlist.model import Argument
from ttc.runtime.arguments import entries_of, from_entries
from ttc.runtime.machine.limits import UNBOUNDED, Meter
from ttc.runtime.machine.rings import USER, OrderedRing
from ttc.runtime.machine.surface import Channel, Surface
from ttc.runtime.machine.variables import Ram, Variable

Cell: TypeAlias = "OrderedRing | Ram | Variable"
Cells: TypeAlias = "Mapping[str, Cell]"
"""The memory of a program's queues, by queue."""
UPDATES = "updates"
"""The reader that takes results which update states and parameters (no graph has the name of a reader that is not its own)."""


class Store:
    """Variables, one a tensor, however many queues show it; queues through which one program feeds another; and cells of programs.

    Args:
        variables: by the key of the tensor.
    """

    def __init__(self, surface: Surface, variables: Mapping[str, Variable]) -> None:
        self._surface = surface
        self._meter = Meter(UNBOUNDED)
        self.variables = variables
        readers: dict[str, dict[str, None]] = {name: {} for name in surface.shared()}
        for port in surface.graphs.values():
            for queue in port.reads:
                readers.get(queue, {})[port.name] = None
        self.shared = {name: self._made(surface.queues[name], found) for name, found in readers.items()}
        """Memory of queues that one program writes and another reads."""

    def cells(self, program: str) -> Cells:
        """Return memory for all queues of a program: its own where no other program reads what it writes there."""
        entry = self._surface.programs[program]
        readers: dict[str, dict[str, None]] = {name: {} for name in self._surface.used(program)}
        for port in self._surface.ports(program):
            for queue in port.reads:
                readers[queue][port.name] = None
        for result in entry.results:
            for queue in result.queues:
                readers[queue][USER if result.updates is None else UPDATES] = None
        return {name: self.shared.get(name) or self._made(self._surface.queues[name], found) for name, found in readers.items()}

    def _made(self, queue: Channel, readers: Iterable[str]) -> Cell:
        if queue.kind == "state" and queue.key is not None:
            return self.variables[queue.key]
        return Ram(queue) if queue.type == "ram" else OrderedRing(queue, self._meter, readers)


def taken(results: Sequence[Argument], cells: Cells, surface: Surface, reader: str) -> dict[str, NDArray]:
    """Take results out of the cells for a reader, and return them by name; those of one queue are of the same entries."""
    found: dict[str, list[NDArray]] = {}
    for result in results:
        for queue in result.queues:
            if queue not in found:
                count = min(entries_of(result, surface.queues[queue]), cells[queue].most)
                found[queue] = [cells[queue].take(reader) for _ in range(count)]
    return {result.name: from_entries(result, [entry for queue in result.queues for entry in found[queue]]) for result in results}
