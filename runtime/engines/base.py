"""What an engine is.  The unit is a graph: an engine prepares it once, and then computes microbatch after microbatch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Graph, Netlist
from ttc.runtime.tensors import Constants

HELD = ("parameter", "constant")
"""Kinds of queues whose entry a plan takes from the program's constants; entries of all others are bound at each run."""


class Plan(Protocol):
    """A graph, ready to run.  Plans are immutable and may be run by several threads at a time."""

    def run(self, entries: Mapping[str, NDArray], into: Mapping[str, NDArray] | None = None) -> dict[str, NDArray]:
        """Compute one microbatch of the graph.

        Args:    entries: one entry of every queue in `bound_queues`, by queue name, in the compute dtype of its format; not changed,
                 but where their memory is in `into`.
                 into: memory for entries of some of the queues that the graph writes: aligned arrays in row-major order, of the entry's
                 shape and compute dtype, which do not overlap.  It may be the memory of an entry: a state that is read and written.
        Returns: an entry for every queue that the graph writes, likewise; those of `into` are written there and are these arrays.
        Raises:  E0802 for a data-dependent value out of range; E0601 or E0602 for memory that does not fit.  The memory of `into` is
                 then as it was.
        """
        ...


@record(slots=True)
class Timed:
    """One job of a plan, as it ran once.

    Args:
        job: its name; an op may take several.
        op: name of the netlist's op.
        location: source names of the op.
        kernel: what computed it.
        start_ns, end_ns: on the clock of `time.perf_counter_ns`.
        flops: operations of arithmetic; a multiplication and the addition of its product are two.
        bytes: that it must read and write at least: each operand and each result once.
        steps: names of the engine's steps that changed what computes the op.
    """

    job: str
    op: str
    location: tuple[str, ...]
    kernel: str
    start_ns: int
    end_ns: int
    flops: int
    bytes: int
    steps: tuple[str, ...] = ()


@runtime_checkable
class ProfiledPlan(Plan, Protocol):
    """A plan that can tell where its time goes."""

    def timed(self, entries: Mapping[str, NDArray], into: Mapping[str, NDArray] | None = None) -> tuple[dict[str, NDArray], list[Timed]]:
        """Compute one microbatch as `run` does, and time every job.

        Returns: what `run` returns, and the jobs in the order in which they began.
        Raises:  as `run` does.
        """
        ...


Port: TypeAlias = "tuple[str, str, np.dtype, tuple[int, ...]]"
"""An array of a short run: the user's name for it, its queue, and the dtype and shape of both."""


class ShortRun(Protocol):
    """A prepared call that runs a plan on a user's arrays.

    Where it gives None, the plan must be run as usual: nothing has changed then.
    """

    def __call__(self, given: Mapping[str, object], /) -> dict[str, NDArray] | None:
        """Run on arrays by name, and return the results by name."""
        ...

    def at(self, inputs: Sequence[int], results: Sequence[int], /) -> bool:
        """Run on memory; return False where the plan must be run as usual: what is at `results` means nothing then.

        Args:   inputs: addresses in order, each of an array of its dtype and shape, C-contiguous, aligned, and unchanged during the call.
                results: likewise, each aligned to 64 bytes and apart from all others.
        """
        ...


@record(eq=False)
class ShortSpec:
    """What the runs of a plan have in common.

    Args:
        inputs, results: what differs from run to run.
        fixed: entries that are read from the same memory in all runs, by queue.
        into: memory for results, as `Plan.run` has it.
        rounded: by the user's name, what makes an entry of an array whose queue has a narrower format.
    """

    inputs: tuple[Port, ...]
    results: tuple[Port, ...]
    fixed: Mapping[str, NDArray]
    into: Mapping[str, NDArray]
    rounded: Mapping[str, Callable[[NDArray], NDArray]] = field(default_factory=dict)


class NarrowingPlan(Plan, Protocol):
    """A plan that rounds some of its entries to their format by itself."""

    narrowed: frozenset[str]
    """The queues whose entries in Float32 may be given as they are, and not rounded to the queue's format."""


@runtime_checkable
class ShortPlan(Plan, Protocol):
    """A plan that can be prepared for runs that take next to no time."""

    def short(self, spec: ShortSpec) -> ShortRun | None:
        """Return a prepared call with the results of `run`; None if it would not be faster. Unless `into` is empty, only one run at a time
        may go on.
        """
        ...


@runtime_checkable
class PrintedPlan(Plan, Protocol):
    """A plan that can be shown."""

    def text(self) -> str:
        """Return the plan as text of any number of lines."""
        ...


class Engine(Protocol):
    """A way to execute graphs."""

    @property
    def name(self) -> str:
        """The engine's name, as users choose it."""
        ...

    @property
    def joins_graphs(self) -> bool:
        """Whether the engine would rather have the graphs of a program as one; see `ttc.runtime.engines.joined`."""
        ...

    def prepare(self, graph: Graph, netlist: Netlist, constants: Constants) -> Plan:
        """Return a plan for a graph of a checked netlist.  Values of constants may be read now or when the plan runs."""
        ...


@runtime_checkable
class RemembersPlans(Protocol):
    """An engine that keeps what it made of a program for the next process that loads it."""

    def prepare_cache(self) -> None:
        """Keep what the plans of all programs need, for this process and others, unless there is no cache.

        It may take half a second where the cache is empty, and is worth that only while this process waits for something else.
        """
        ...

    def remember(self, key: str, note: str, plans: Mapping[str, Plan]) -> None:
        """Keep plans, if that is possible.

        Args:    key: determines the program, weights and all.  note: given back with the plans.  plans: by graph.
        """
        ...

    def keep(self, key: str, graph: str, source: Callable[[], Netlist], constants: Constants) -> bool:
        """Make a plan outside of this process, and keep it for `recall`; return False if it could not be done, for whatever reason.

        Args:    key: as in `remember`.  graph: its name in the netlist.  source: gives the netlist, and is called outside, too.
        """
        ...

    def recall(self, key: str, source: Callable[[], Netlist], constants: Constants) -> tuple[str, dict[str, Plan]] | None:
        """Return the note and the plans that were kept under a key; None if there are none, or only of another version or machine.

        Args:    source: gives the netlist of the graphs, should a plan need it after all.
        """
        ...


def bound_queues(graph: Graph, netlist: Netlist) -> tuple[str, ...]:
    """Return queues that the graph reads and that change between runs, in the order of first use."""
    names = netlist.read_by(graph)
    return tuple(name for name in names if netlist.queues[name].kind not in HELD)


def held_keys(graph: Graph, netlist: Netlist) -> frozenset[str]:
    """Return keys of the constants that the graph reads: through queues, or inside the work of its ops."""
    queues = [netlist.queues[name] for name in netlist.read_by(graph)]
    keys = {queue.key for queue in queues if queue.kind in HELD and queue.key is not None}
    inner = {work.attrs.get("key") for op in graph.ops for work in op.work.works if work.op.startswith("ttc.")}
    return frozenset(keys | {key for key in inner if isinstance(key, str)})
