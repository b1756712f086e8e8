"""Who fills which queue, and which rams share memory."""

from __future__ import annotations

from dataclasses import dataclass

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.model import Netlist, Op, Queue

HOST = "HOST"
OTHER_NETLIST = "net2net"
"""Stands in the source of a queue that another netlist fills; here it is taken for one that the host fills."""


@dataclass(frozen=True)
class Shared:
    """Rams that lie over one memory.

    owner: the one that the host fills; accumulates: gradients are summed up in it, so that it starts from zero.
    """

    views: tuple[Queue, ...]
    owner: Queue
    accumulates: bool


def is_host_fed(queue: Queue) -> bool:
    """Return whether the host fills a queue, and no op."""
    return queue.source == HOST or OTHER_NETLIST in queue.source


def host_owned(netlist: Netlist) -> list[Queue]:
    """Return queues and rams whose values come from the host, perhaps only the initial ones."""
    rams = {shared.owner.name for shared in shared_memories(netlist) if not shared.accumulates}
    return [q for q in netlist.queues.values() if q.name in rams or (q.type == "queue" and is_host_fed(q))]


def is_gradient(op: Op) -> bool:
    """Return whether an op adds to its result of the microbatch before."""
    return dict(op.settings).get("gradient_op") is True


def shared_memories(netlist: Netlist) -> list[Shared]:
    """Return all rams, by the memory that they show.  Raises E0601 for an alias of what is no ram."""
    groups: dict[str, list[Queue]] = {}
    for queue in netlist.queues.values():
        if queue.type != "ram":
            continue
        base = netlist.queues.get(queue.alias) if queue.alias else queue
        if base is None or base.type != "ram" or base.alias:
            raise Error("E0601", f"ram '{queue.name}' is an alias of '{queue.alias}', which is no ram with memory of its own")
        groups.setdefault(base.name, []).append(queue)
    summed = {name for graph in netlist.graphs.values() for name in _accumulators(graph.ops, graph.writes)}
    return [_shared(netlist.queues[base], views, summed) for base, views in groups.items()]


def _shared(base: Queue, views: list[Queue], summed: set[str]) -> Shared:
    fed = [view for view in (base, *views) if is_host_fed(view)]
    return Shared(tuple(views), fed[0] if fed else base, not fed and any(view.name in summed for view in views))


def _accumulators(ops: tuple[Op, ...], writes: tuple[tuple[str, str], ...]) -> list[str]:
    gradients = {op.name for op in ops if is_gradient(op)}
    return [queue for op, queue in writes if op in gradients]
