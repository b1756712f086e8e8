"""Dynamic queues: memory that programs give to queues and take back."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.model import Chip, Graph, Netlist, Program, Queue
from ttc.dialects.netlist.sizes import queue_header_bytes


class Allocation:
    """Which queues have their memory now: static ones always, dynamic ones (those that a program allocates) from `allocate` on."""

    def __init__(self, netlist: Netlist, programs: Iterable[Program]) -> None:
        self._netlist = netlist
        steps = [i for program in programs for i in program.instructions if i.opcode in ("allocate", "deallocate")]
        self._dynamic = {str(step.args[0]) for step in steps}
        self._live: dict[str, None] = {}

    def is_live(self, name: str) -> bool:
        """Return whether a queue has its memory."""
        return name not in self._dynamic or name in self._live

    def allocate(self, name: str) -> None:
        """Give a queue its memory. Raises E0601 for an unknown queue, E0804 for one that has its memory already or overlaps another that
        has.
        """
        queue = self._queue(name)
        if name in self._live:
            raise Error("E0804", f"queue '{name}' is allocated twice", hint="deallocate it first")
        for other in self._netlist.queues.values():
            found = _collision(queue, other, self._netlist.chip) if self.is_live(other.name) else None
            if found is not None:
                raise Error("E0804", f"queue '{name}' is allocated over queue '{other.name}', which is alive: {found}")
        self._live[name] = None

    def deallocate(self, name: str) -> None:
        """Take a queue's memory back. Raises E0601 for an unknown queue, E0804 for one that has no memory."""
        self._queue(name)
        if name not in self._live:
            raise Error("E0804", f"queue '{name}' is deallocated, but it is not allocated")
        del self._live[name]

    def check_use(self, graph: Graph) -> None:
        """Raises E0804 if a graph uses a dynamic queue that has no memory."""
        used = [name for op in graph.ops for name in op.inputs if name in self._netlist.queues] + [queue for _, queue in graph.writes]
        for name in used:
            if not self.is_live(name):
                raise Error(
                    "E0804", f"graph '{graph.name}' uses queue '{name}' while it is not allocated", hint="allocate_queue comes before"
                )

    def _queue(self, name: str) -> Queue:
        found = self._netlist.queues.get(name)
        if found is None:
            raise Error("E0601", f"there is no queue '{name}'")
        return found


def _collision(a: Queue, b: Queue, chip: Chip) -> str | None:
    """Return where entries of two queues lie over each other; None if they do not, or are meant to."""
    if (a.location, a.chip) != (b.location, b.chip) or a.name in (b.alias, b.name) or a.alias == b.name:
        return None
    size, other_size = (max(queue.buffer_bytes - queue_header_bytes(chip), 0) for queue in (a, b))
    for (channel, start), (other_channel, other_start) in product(a.buffers, b.buffers):
        end, other_end = start + size, other_start + other_size
        if channel == other_channel and start < other_end and other_start < end:
            return f"bytes 0x{start:x} to 0x{end:x} and 0x{other_start:x} to 0x{other_end:x} of channel {channel}"
    return None
