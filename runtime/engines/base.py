"""What an engine is.  The unit is a graph: an engine prepares it once, and then computes microbatch after microbatch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from numpy.typing import NDArray

from ttc.dialects.netlist.model import Graph, Netlist
from ttc.runtime.tensors import Constants

HELD = ("parameter", "constant")
"""Kinds of queues whose entry a plan takes from the program's constants; entries of all others are bound at each run."""


class Plan(Protocol):
    """A graph, ready to run.  Plans are immutable and may be run by several threads at a time."""

    def run(self, entries: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """Compute one microbatch.

        Args:    entries: one entry of every queue in `bound_queues`, by queue name, in the compute dtype of its format; not changed.
        Returns: an entry for every queue that the graph writes, likewise.
        Raises:  E0802 for a data-dependent value out of range.
        """
        ...


class Engine(Protocol):
    """A way to execute graphs."""

    @property
    def name(self) -> str:
        """As users choose it."""
        ...

    def prepare(self, graph: Graph, netlist: Netlist, constants: Constants) -> Plan:
        """A plan for a graph of a checked netlist.  Values of constants may be read now or when the plan runs."""
        ...


def bound_queues(graph: Graph, netlist: Netlist) -> tuple[str, ...]:
    """Queues that the graph reads and that change between runs, in the order of first use."""
    names = _read_queues(graph, netlist)
    return tuple(name for name in names if netlist.queues[name].kind not in HELD)


def held_keys(graph: Graph, netlist: Netlist) -> frozenset[str]:
    """Keys of the constants that the graph reads: through queues, or inside the work of its ops."""
    queues = [netlist.queues[name] for name in _read_queues(graph, netlist)]
    keys = {queue.key for queue in queues if queue.kind in HELD and queue.key is not None}
    inner = {work.attrs.get("key") for op in graph.ops for work in op.work.works if work.op.startswith("ttc.")}
    return frozenset(keys | {key for key in inner if isinstance(key, str)})


def _read_queues(graph: Graph, netlist: Netlist) -> dict[str, None]:
    return dict.fromkeys(name for op in graph.ops for name in op.inputs if name in netlist.queues)
