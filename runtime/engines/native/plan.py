"""Plans of the native engine: a graph as jobs over planned memory, with steps in Python between them where there is no kernel."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.interpret import Resolver
from ttc.dialects.netlist.model import Graph, Netlist
from ttc.runtime.engines.base import Timed
from ttc.runtime.engines.native.arena import Arena
from ttc.runtime.engines.native.code import Code
from ttc.runtime.engines.native.instance import Instance, Template
from ttc.runtime.engines.native.lowering import Job
from ttc.runtime.engines.native.memory import new_array
from ttc.runtime.engines.native.nodes import Node
from ttc.runtime.engines.native.pool import Pool
from ttc.runtime.engines.native.python_step import Memory, Mismatch, PythonStep
from ttc.runtime.engines.native.storage import array_dtype
from ttc.runtime.engines.native.tensors import View
from ttc.runtime.engines.reference import plan_of
from ttc.runtime.tensors import Constants


@dataclass(frozen=True)
class Segment:
    """Jobs [first, last) of the list, then a step in Python if there is one."""

    first: int
    last: int
    step: PythonStep | None


@dataclass(frozen=True)
class Written:
    """A queue that the graph writes.

    Args:
        view: where the value lies; None where Python holds it.
        in_place: whether the view's buffer is the entry; else it is copied.
        dtype: of the entry.
    """

    queue: str
    value: int
    view: View | None
    in_place: bool
    dtype: np.dtype


@dataclass(frozen=True)
class Layout:
    """All that a plan is made of, but for code and constants.

    Args:
        jobs: of all segments.
        bound: queues that change from run to run, and how their entries lie; None for those that Python holds.
        values: numbers of the values of these queues.
    """

    jobs: Sequence[Job]
    segments: Sequence[Segment]
    bound: Mapping[str, View | None]
    written: Sequence[Written]
    arena: Arena
    values: Mapping[str, int]


class NativePlan:
    """A graph, ready to run; immutable but for the instances that wait for the next runs.  Several threads may run it at a time."""

    def __init__(
        self, graph: Graph, netlist: Netlist, constants: Constants, layout: Layout, template: Template, pool: Pool, code: Code
    ) -> None:
        self._graph, self._netlist, self._constants = graph, netlist, constants
        self.layout = layout
        self._template = template
        self._pool = pool
        self._code = code
        self._free: deque[_Lease] = deque()  # no lock: a child process may be forked while one is held

    def run(self, entries: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """One microbatch; see `Plan.run`."""
        return self._leased(entries, self._native)

    def profile(self, entries: Mapping[str, NDArray]) -> list[Timed]:
        """One microbatch, job by job; see `ProfiledPlan.profile`.  Each job is timed with its start and the wait for all threads."""
        times: list[Timed] = []

        def timed(lease: _Lease, segment: Segment, memory: Memory) -> None:
            for number in range(segment.first, segment.last):
                run, job = lease.instance.segment(number, number + 1), self.layout.jobs[number]
                start = perf_counter_ns()
                self._pool.run(run.ctypes.data)
                times.append(_timed(job.node, type(job.kernel).__name__, start, (job.flops, job.moved_bytes), number))
            if segment.step is not None:
                start = perf_counter_ns()
                segment.step.run(memory, self._resolver)
                times.append(_timed(segment.step.node, "python", start, (0, 0), len(times)))

        self._leased(entries, timed)
        return times

    def _leased(self, entries: Mapping[str, NDArray], compute: _Compute) -> dict[str, NDArray]:
        """By the reference engine where data is out of range or not as announced, or memory does not suffice: it says what is wrong."""
        try:
            lease = self._lease()
            try:
                found = self._computed(lease, entries, compute)
            finally:
                self._free.append(lease)
        except (Mismatch, MemoryError):
            found = None
        return plan_of(self._graph, self._netlist, self._constants).run(entries) if found is None else found

    def _lease(self) -> _Lease:
        try:
            return self._free.pop()
        except IndexError:
            return _Lease(self.layout, self._template, self._pool.threads)

    def _computed(self, lease: _Lease, entries: Mapping[str, NDArray], compute: _Compute) -> dict[str, NDArray] | None:
        """None if data is out of range.  Raises Mismatch."""
        instance, layout = lease.instance, self.layout
        instance.rewind()
        given = {queue: _bind(instance, view, entries[queue]) for queue, view in layout.bound.items()}
        outputs = {w.queue: new_array(w.view.shape, w.dtype) for w in layout.written if w.view is not None and w.in_place}
        for written in layout.written:
            if written.view is not None and written.in_place:
                instance.bind(written.view.buffer, outputs[written.queue].ctypes.data)
        memory = Memory(instance, {**given, **outputs}, {layout.values[queue]: entry for queue, entry in given.items()})
        for segment in layout.segments:
            compute(lease, segment, memory)
            if instance.status[0]:
                return None
        return {w.queue: outputs[w.queue] if w.in_place else memory.entry(w.value, w.view, w.dtype) for w in layout.written}

    def _native(self, lease: _Lease, segment: Segment, memory: Memory) -> None:
        if segment.last > segment.first:
            self._pool.run(lease.runs[segment].ctypes.data)
        if segment.step is not None and not lease.instance.status[0]:
            segment.step.run(memory, self._resolver)

    @property
    def _resolver(self) -> Resolver:
        return plan_of(self._graph, self._netlist, self._constants).constant


class _Lease:
    """An instance with the runs of a plan's segments."""

    def __init__(self, layout: Layout, template: Template, threads: int) -> None:
        self.instance = Instance(template, layout.arena, threads)
        self.runs = {s: self.instance.segment(s.first, s.last) for s in layout.segments}


_Compute: TypeAlias = "Callable[[_Lease, Segment, Memory], None]"
"""What computes one segment of a run."""


def _bind(instance: Instance, view: View | None, entry: NDArray) -> NDArray:
    """Put an entry in its place; gives the array whose memory is used.  Raises Mismatch."""
    if view is None:
        return entry
    if entry.shape != view.shape or entry.dtype != array_dtype(view.storage):
        raise Mismatch(str(view.buffer.queue))
    entry = np.ascontiguousarray(entry)
    instance.bind(view.buffer, entry.ctypes.data)
    return entry


def _timed(node: Node, kernel: str, start_ns: int, work: tuple[int, int], number: int) -> Timed:
    ops = [node.op, *(part.op for part in node.parts[1:])]
    location = tuple(dict.fromkeys(name for op in ops for name in op.location))
    name = " + ".join(dict.fromkeys(op.name for op in ops))
    return Timed(f"{number}", name, location, kernel, start_ns, perf_counter_ns(), *work)
