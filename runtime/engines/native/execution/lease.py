"""What one run at a time has of a plan: an instance, the runs of its segments, and memory for small entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.plain.interpret import Resolver
from ttc.runtime.engines.native.codegen.code import Code
from ttc.runtime.engines.native.execution.bound_steps import BoundStep, bound_step
from ttc.runtime.engines.native.execution.instance import Instance
from ttc.runtime.engines.native.execution.pool import Pool
from ttc.runtime.engines.native.execution.targets import BoundEntry, ResultTarget, Targets
from ttc.runtime.engines.native.execution.values import RunValues
from ttc.runtime.engines.native.graph.storage import array_dtype
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.planning.prepared import Prepared, Segment
from ttc.runtime.engines.native.planning.python_step import Mismatch
from ttc.runtime.engines.result_memory import ResultMemory
from ttc.runtime.pages import aligned_bytes

_Bound: TypeAlias = "tuple[Sequence[tuple[View, bool]], Callable[[], None] | None, BoundStep | None]"
SMALL_BYTES = 1 << 16
"""The most bytes of an entry that is copied: that takes less time than to fill in its addresses."""


class Lease:
    """An instance with what is filled in once.

    Entries of at most SMALL_BYTES have memory of their own here, whose address the jobs have for good; the addresses of others are
    filled in at each run, but for variables: theirs when they lie in other memory than at the run before.

    Args:
        result_memory: for results that are given away.
    """

    def __init__(self, prepared: Prepared, code: Code, pool: Pool, result_memory: ResultMemory) -> None:
        layout = prepared.layout
        self.instance = Instance(prepared.template, layout.arena, code.addresses, pool.threads)
        self._pool, self.code, self.result_memory = pool, code, result_memory
        segments = [segment for segment in layout.segments if segment.last > segment.first]
        self._memory = {s.first: self.instance.segment(s.first, s.last) for s in segments}
        self._runs = {first: run.ctypes.data for first, run in self._memory.items()}
        self.status = self.instance.status.data
        """Its first element is 0 while no data were out of range."""
        self._segments = layout.segments
        self._sequence: list[_Bound] = []
        self._alone = pool.new_alone()
        self._alone_address = self._alone.ctypes.data
        self._inputs = [(queue, view, self._own(view)) for queue, view in layout.bound.items() if queue not in layout.variables]
        self._variables = [BoundEntry(queue, view) for queue in sorted(layout.variables) if (view := layout.bound[queue]) is not None]
        self._objects = [queue for queue in sorted(layout.variables) if layout.bound[queue] is None]
        written = [(w.queue, w.view, w.dtype) for w in layout.written if w.view is not None and w.in_place]
        self._outputs = [ResultTarget(queue, view, dtype, self._own(view)) for queue, view, dtype in written]
        self.targets = Targets(self.instance, layout, self._variables, self._outputs)

    def sequence(self, memory: RunValues | None, resolve: Callable[[], Resolver]) -> Sequence[_Bound]:
        """Return what the segments do, one after the other: their conditions, prepared calls of jobs, and steps in Python.

        Args:
            memory: of a run, to which steps are bound; None if the plan has none.
            resolve: gives what gives constants.
        """
        if len(self._sequence) < len(self._segments):
            self._sequence = [
                (s.conditions, self.bound(s), None if s.step is None or memory is None else bound_step(s.step, memory, resolve))
                for s in self._segments
            ]
        return self._sequence

    def bound(self, segment: Segment) -> Callable[[], None] | None:
        """Return a prepared call that runs the jobs of a segment; None if it has none."""
        if segment.last == segment.first:
            return None
        run = self._runs[segment.first]
        return self._pool.bound_alone(self._alone_address, run) if segment.alone else partial(self._pool.run, run)

    def inputs(self) -> dict[str, NDArray | View | None] | None:
        """Return the memory of all inputs that are no variables, by queue: views of large ones, None for those that Python holds.

        It is None if the plan has variables that Python holds.
        """
        if self._objects:
            return None
        return {queue: view if own is None else own for queue, view, own in self._inputs}

    def large_results(self) -> dict[str, View]:
        """Return what shows the results that are written into new memory at each run, by queue."""
        return {output.queue: output.view for output in self.targets.apart if output.own is None}

    def take(self, entries: Mapping[str, NDArray], into: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """Put entries in their places, and results where they are wanted.

        Returns: the arrays whose memory is used, by queue.
        Raises:  Mismatch; E0601, E0602 for memory of `into` that does not fit.
        """
        found: dict[str, NDArray] = {}
        targets = self.targets
        for variable in self._variables:
            entry = entries[variable.queue]
            if variable.known() is not entry:
                entry = variable.bound(self.instance, entry)
                targets.forget()
            found[variable.queue] = entry
        targets.aim(into)
        for queue, view, own in self._inputs:
            entry = entries[queue]
            if own is not None:
                if entry.shape != own.shape or entry.dtype != own.dtype:
                    raise Mismatch(queue)
                own[...] = entry
                entry = own
            elif view is not None:
                entry = self._bind(queue, view, entry)
            found[queue] = entry
        for queue in self._objects:
            found[queue] = entries[queue]
        return found

    def open(self) -> dict[str, NDArray]:
        """Return arrays that the run writes, by queue, but for results that are written in place."""
        found: dict[str, NDArray] = {}
        for output in self.targets.apart:
            if output.own is None:
                found[output.queue] = array = self.result_memory.array(output.view.shape, output.dtype)
                self.instance.bind(output.view.buffer, array.ctypes.data)
            else:
                found[output.queue] = output.own
        return found

    def new_results(self) -> dict[str, NDArray]:
        """Return arrays to be given away for small results: made before a run that writes in place, which must not fail at its end."""
        return {o.queue: self.result_memory.array(o.view.shape, o.dtype) for o in self.targets.apart if o.own is not None}

    def results(self, opened: Mapping[str, NDArray], made: Mapping[str, NDArray] | None) -> dict[str, NDArray]:
        """Return what the run wrote into these, to be given away.  made: see `new_results`; None: they are made now."""
        found: dict[str, NDArray] = {}
        for output in self.targets.apart:
            queue = output.queue
            if output.own is None:
                found[queue] = opened[queue]
            elif made is None:
                found[queue] = output.own.copy()
            else:
                found[queue] = result = made[queue]
                result[...] = output.own
        return found

    def _own(self, view: View | None) -> NDArray | None:
        """Memory for the small entries that a view shows; None for others.  It is a view, which nobody takes for an array to keep."""
        if view is None or not 0 < view.buffer.size_bytes <= SMALL_BYTES:
            return None
        array = np.ndarray(view.shape, array_dtype(view.storage), aligned_bytes(view.buffer.size_bytes))
        self.instance.bind(view.buffer, array.ctypes.data)
        return array

    def _bind(self, queue: str, view: View, entry: NDArray) -> NDArray:
        if entry.shape != view.shape or entry.dtype != array_dtype(view.storage):
            raise Mismatch(queue)
        entry = entry.copy() if self.targets.covers(entry) else np.ascontiguousarray(entry)
        self.instance.bind(view.buffer, entry.ctypes.data)
        return entry
