"""One run of a program: its instructions, and the graphs that they execute, on the memory of its queues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from numpy.typing import NDArray

from ttc.dialects.core.formats import format_named
from ttc.runtime.machine.device import MachineDevice, plan_for
from ttc.runtime.machine.limits import UNBOUNDED, Meter
from ttc.runtime.machine.rings import OrderedRing
from ttc.runtime.machine.stepper import Actions, ResolvedSetting, Stepper
from ttc.runtime.machine.store import Cells
from ttc.runtime.machine.surface import Surface

Watch: TypeAlias = Callable[[str, NDArray], None]


class Execution(Actions):
    """What instructions do in one run of a compiled program.

    Args:
        devices: that compute its graphs.
        alive: raises once the session is closed; called before each microbatch.
        watch: is told every entry that a graph writes, with its queue.
    """

    def __init__(
        self, surface: Surface, cells: Cells, devices: Sequence[MachineDevice], alive: Callable[[], None], watch: Watch | None = None
    ) -> None:
        self._surface = surface
        self._cells = cells
        self._devices = devices
        self._alive = alive
        self._watch = watch
        self._meter = Meter(UNBOUNDED)

    def run(self, stepper: Stepper, params: Mapping[str, int] | None = None) -> None:
        """Run the program.  Raises E0101, E0608, E0802, E0803, E0804, E0805."""
        stepper.run(self, self._meter, params)

    def execute(self, graph: str, settings: Mapping[str, ResolvedSetting]) -> None:
        """Run all microbatches of a graph, each on the next entry of every queue that it reads; entries of summed queues add up."""
        ports, cells = self._surface.graphs[graph], self._cells
        plan = plan_for(self._devices, ports.chip, graph)
        self._meter.epoch(ports.input_count, 0)
        for number in range(ports.input_count):
            self._alive()
            written = plan.run({queue: cells[queue].take(graph) for queue in ports.reads})
            for queue, value in written.items():
                if number and self._surface.queues[queue].summed:
                    value = self._sum(queue, cells[queue].take(graph), value)
                cells[queue].push(value)
                if self._watch is not None:
                    self._watch(queue, value)

    def _sum(self, queue: str, before: NDArray, value: NDArray) -> NDArray:
        """Return what a summed queue holds after a further microbatch, as its format holds it."""
        return format_named(self._surface.queues[queue].tensor.format).round(before + value)


class QueueDemand(Actions):
    """What one run of a program takes from its queues, and what it adds to them."""

    def __init__(self, surface: Surface, stepper: Stepper, params: Mapping[str, int] | None = None) -> None:
        self._counts: Counter[str] = Counter()
        self._surface = surface
        stepper.run(self, Meter(UNBOUNDED), params)
        executed = [surface.graphs[name] for name in self._counts]
        writes: Counter[str] = Counter()
        for ports in executed:
            writes.update(dict.fromkeys(ports.writes, self._counts[ports.name]))
        reads = {(queue, ports.name): self._counts[ports.name] for ports in executed for queue in ports.reads}
        read = {queue for queue, _ in reads}
        self._fed = {place: count for place, count in reads.items() if place[0] not in writes}
        self._made = {queue: count for queue, count in writes.items() if queue not in read}

    def execute(self, graph: str, settings: Mapping[str, ResolvedSetting]) -> None:
        """Count the microbatches of a graph's execution."""
        self._counts[graph] += self._surface.graphs[graph].input_count

    def lacking(self, cells: Cells) -> str | None:
        """Return what keeps a run from going through: a queue with too few entries, or too little room; None if nothing does."""
        for (queue, reader), count in self._fed.items():
            cell = cells[queue]
            wanted = count if isinstance(cell, OrderedRing) else cell.most
            if cell.available(reader) < wanted:
                return f"a run reads {wanted} entries of queue '{queue}', which holds {cell.available(reader)}"
        for queue, count in self._made.items():
            cell = cells[queue]
            if not cell.has_room(count):
                return f"a run writes {count} entries to queue '{queue}', which has no room for them"
        return None
