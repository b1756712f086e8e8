"""Plans of the native engine: a graph as jobs over planned memory, with steps in Python between them where there is no kernel."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from math import prod
from time import perf_counter_ns
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.formats import format_named
from ttc.dialects.core.plain.interpret import Resolver
from ttc.runtime.engines.base import ShortRun, ShortSpec, Timed
from ttc.runtime.engines.into import write_into
from ttc.runtime.engines.native.codegen.code import Code
from ttc.runtime.engines.native.execution.lease import Lease
from ttc.runtime.engines.native.execution.pool import Pool
from ttc.runtime.engines.native.execution.short import short_run
from ttc.runtime.engines.native.execution.values import RunValues
from ttc.runtime.engines.native.planning.prepared import Prepared
from ttc.runtime.engines.native.planning.python_step import Mismatch
from ttc.runtime.engines.result_memory import ResultMemory
from ttc.runtime.metrics import counter
from ttc.runtime.pages import aligned_bytes

if TYPE_CHECKING:
    from ttc.runtime.engines.native.graph.nodes import Node
    from ttc.runtime.engines.native.graph.tensors import View
    from ttc.runtime.engines.native.jobs.job import Job
    from ttc.runtime.engines.native.prepare.draft import Draft
    from ttc.runtime.engines.reference import ReferencePlan


_REFERENCE_RUNS, _PYTHON_OPS = counter("reference_runs"), counter("python_ops")
_QUIET = nullcontext()
_NOWHERE: Mapping[str, NDArray] = {}
"""No memory of the caller's."""


class NativePlan:
    """A graph, ready to run; immutable but for the instances that wait for the next runs.  Several threads may run it at a time.

    Args:
        reference: the same graph on the reference engine, made when it is needed.
        draft: what the graph became, for reports.
    """

    def __init__(
        self, prepared: Prepared, pool: Pool, code: Code, reference: Callable[[], ReferencePlan], draft: Callable[[], Draft]
    ) -> None:
        self.prepared = prepared
        self.narrowed = frozenset(prepared.layout.narrowed)
        """The queues whose entries may be given unrounded; see `NarrowingPlan.narrowed`."""
        self._pool = pool
        self.code = code
        self._reference = reference
        self._resolver: Callable[[], Resolver] = lambda: reference().constant  # holds no plan: what steps hold would hold themselves
        self._draft = draft
        layout = prepared.layout
        self._needs_memory = any(s.step or s.conditions for s in layout.segments) or any(not w.in_place for w in layout.written)
        shown = [(w.view.shape, w.dtype) for w in layout.written if w.view is not None]
        self._results = ResultMemory((prod(shape) * dtype.itemsize for shape, dtype in shown), aligned_bytes)
        self._objects = any(w.view is None for w in layout.written)
        for segment in layout.segments:
            if segment.step is not None:
                _PYTHON_OPS.add(1, segment.step.node.work.op)
        self._free: deque[Lease] = deque()  # no lock: a child process may be forked while one is held

    def jobs(self) -> list[Job]:
        """Return the jobs of all segments, in order."""
        return self._draft().jobs

    def text(self) -> str:
        """Return the plan as text: jobs, the steps that changed them, their order, and the memory that they work in."""
        return self._draft().text()

    def run(self, entries: Mapping[str, NDArray], into: Mapping[str, NDArray] | None = None) -> dict[str, NDArray]:
        """Compute one microbatch; see `Plan.run`."""
        return self._leased(entries, self._native, into or _NOWHERE)

    def short(self, spec: ShortSpec) -> ShortRun | None:
        """Return how to run the plan by one prepared call; see `ShortPlan.short`."""
        try:
            return short_run(spec, self.prepared.layout, self._new_lease, self._resolver)
        except (Mismatch, MemoryError):
            return None

    def timed(self, entries: Mapping[str, NDArray], into: Mapping[str, NDArray] | None = None) -> tuple[dict[str, NDArray], list[Timed]]:
        """Compute one microbatch, job by job; see `ProfiledPlan.timed`.  A job is timed with its start and the wait for all threads."""
        times: list[Timed] = []
        draft = self._draft()
        jobs = draft.jobs

        def compute(lease: Lease, memory: RunValues | None) -> bool:
            for segment in self.prepared.layout.segments:
                if not _hold(segment.conditions, memory):
                    continue
                for number in range(segment.first, segment.last):
                    run, job = lease.instance.segment(number, number + 1), jobs[number]
                    start = perf_counter_ns()
                    self._pool.run(run.ctypes.data)
                    span = start, perf_counter_ns()
                    times.append(_timed(job.node, type(job.kernel).__name__, span, (job.flops, job.moved_bytes), number, draft))
                if lease.status[0]:
                    return False
                if segment.step is not None and memory is not None:
                    start = perf_counter_ns()
                    memory.compute(segment.step, self._resolver())
                    times.append(_timed(segment.step.node, "python", (start, perf_counter_ns()), (0, 0), len(times), draft))
            return True

        return self._leased(entries, compute, into or _NOWHERE), times

    def _leased(self, entries: Mapping[str, NDArray], compute: _Compute, into: Mapping[str, NDArray] = _NOWHERE) -> dict[str, NDArray]:
        """By the reference engine where data is out of range or not as announced, or memory does not suffice: it says what is wrong."""
        try:
            lease = self._lease()
            try:
                found = self._computed(lease, entries, compute, into)
            finally:
                self._free.append(lease)
        except (Mismatch, MemoryError):
            found = None
        if found is not None:
            return found
        _REFERENCE_RUNS.add()
        return self._reference().run(self._rounded(entries), into)

    def _rounded(self, entries: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """Return entries as others than this plan must have them: rounded to their formats."""
        narrowed = self.prepared.layout.narrowed
        with np.errstate(over="ignore"):  # what a narrower float cannot hold is infinite
            return {queue: format_named(narrowed[queue]).round(e) if queue in narrowed else e for queue, e in entries.items()}

    def _lease(self) -> Lease:
        try:
            return self._free.pop()
        except IndexError:
            return self._new_lease()

    def _new_lease(self) -> Lease:
        return Lease(self.prepared, self.code, self._pool, self._results)

    def _computed(
        self, lease: Lease, entries: Mapping[str, NDArray], compute: _Compute, into: Mapping[str, NDArray]
    ) -> dict[str, NDArray] | None:
        """None if data is out of range.  Raises Mismatch, and as `take` does."""
        instance, layout, targets = lease.instance, self.prepared.layout, lease.targets
        instance.rewind()
        given, opened = lease.take(entries, into), lease.open()
        memory = self._memory(lease, given, opened, into) if self._needs_memory else None
        made = self._made(lease, memory) if targets.direct else None
        with _QUIET if memory is None else np.errstate(all="ignore"):
            if not compute(lease, memory):
                return None
        found = lease.results(opened, made)
        for queue in targets.direct:
            found[queue] = into[queue]
        if memory is not None:
            out = self._new_copies() if made is None else made
            found = {w.queue: found[w.queue] if w.in_place else memory.entry(w, out.get(w.queue)) for w in layout.written}
        if self._objects:
            return write_into(found, into)
        for queue in targets.copied:
            np.copyto(into[queue], found[queue])
            found[queue] = into[queue]
        return found

    def _made(self, lease: Lease, memory: RunValues | None) -> dict[str, NDArray]:
        """Arrays to be given away that are filled at the end of a run: made before anything is written in place."""
        return lease.new_results() | (self._new_copies() if memory is not None else {})

    def _new_copies(self) -> dict[str, NDArray]:
        """Return arrays to be given away for results that are copied at the end of a run."""
        written = self.prepared.layout.written
        return {w.queue: self._results.array(w.view.shape, w.dtype) for w in written if w.view is not None and not w.in_place}

    def _memory(self, lease: Lease, given: Mapping[str, NDArray], opened: Mapping[str, NDArray], into: Mapping[str, NDArray]) -> RunValues:
        """The values of a run for steps in Python, and for results that are copied."""
        written = {**opened, **{queue: into[queue] for queue in lease.targets.direct}}
        return RunValues(lease.instance, given, written, {self.prepared.layout.values[queue]: entry for queue, entry in given.items()})

    def _native(self, lease: Lease, memory: RunValues | None) -> bool:
        """Run all segments; returns whether no data were out of range."""
        status = lease.status
        for conditions, jobs, step in lease.sequence(memory, self._resolver):
            if conditions and not _hold(conditions, memory):
                continue
            if jobs is not None:
                jobs()
                if status[0]:
                    return False
            if step is not None and memory is not None:
                step(memory)
        return True


def _hold(conditions: Sequence[tuple[View, bool]], memory: RunValues | None) -> bool:
    """Return whether a segment is taken in a run."""
    return memory is None or all(memory.truth(view) == truth for view, truth in conditions)


_Compute: TypeAlias = "Callable[[Lease, RunValues | None], bool]"
"""What computes all segments of a run; returns whether no data were out of range."""


def _timed(node: Node, kernel: str, span_ns: tuple[int, int], work: tuple[int, int], number: int, draft: Draft) -> Timed:
    ops = [node.op, *(part.op for part in node.parts[1:])]
    location = tuple(dict.fromkeys(name for op in ops for name in op.location))
    name = " + ".join(dict.fromkeys(op.name for op in ops))
    return Timed(f"{number}", name, location, kernel, *span_ns, *work, draft.changed(node))
