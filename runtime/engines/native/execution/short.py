"""Runs of a plan on small arrays by one prepared call: what is the same at each run is looked up, checked and filled in once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

from ttc.dialects.core.records import record
from ttc.runtime.engines.base import ShortRun, ShortSpec
from ttc.runtime.engines.native.execution.lease import Lease
from ttc.runtime.engines.native.execution.values import Values
from ttc.runtime.engines.native.graph.storage import computed

if TYPE_CHECKING:
    from ttc.runtime.engines.native.planning.prepared import Layout

_Copies = tuple[tuple[NDArray, NDArray], ...]
"""Arrays with what is copied into them."""


@record(eq=False)
class _Call:
    """One lease that is ready for the next run.

    Args:
        inputs: names with memory of the inputs, their dtypes and shapes.
        rewind: makes the instance ready for a run.
        compute: runs all jobs.
        status: its first element is 0 after a run that went well.
        kept: what the run made that goes into memory of the caller's.
        results: names with what the run made for the user, and what makes a copy of that.
        lease: whose memory all of these lie in.
    """

    inputs: tuple[tuple[str, NDArray, np.dtype, tuple[int, ...]], ...]
    rewind: Callable[[int], None]
    compute: Callable[[], None]
    status: memoryview
    kept: _Copies
    results: tuple[tuple[str, NDArray, Callable[[], NDArray]], ...]
    lease: Lease

    def run(self, given: Mapping[str, object]) -> dict[str, NDArray] | None:
        """Return the results; None if an input is not an array as it is expected, or data is out of range: nothing has changed then."""
        for name, own, dtype, shape in self.inputs:
            value = given.get(name)
            if type(value) is not np.ndarray or value.dtype != dtype or value.shape != shape:
                return None
            own[...] = value
        made = [(name, copy()) for name, _, copy in self.results] if self.kept else None  # before anything of the caller's is written
        self.rewind(0)
        self.compute()
        if self.status[0]:
            return None
        if made is None:
            return {name: copy() for name, _, copy in self.results}
        for (_, result), (_, own, _) in zip(made, self.results, strict=True):
            result[...] = own
        for memory, own in self.kept:
            memory[...] = own
        return dict(made)


def short_run(spec: ShortSpec, layout: Layout, new_lease: Callable[[], Lease]) -> ShortRun | None:
    """Return how to run a plan; None unless all of it is native jobs, on small inputs and results of the user's own types."""
    first = _call_of(spec, layout, new_lease())
    if first is None:
        return None
    free = deque([first])  # no lock: a child process may be forked while one is held

    def run(given: Mapping[str, object]) -> dict[str, NDArray] | None:
        try:
            call = free.pop()
        except IndexError:
            call = _call_of(spec, layout, new_lease())
            assert call is not None
        try:
            return call.run(given)
        finally:
            free.append(call)

    return run


def _call_of(spec: ShortSpec, layout: Layout, lease: Lease) -> _Call | None:
    own = lease.small_inputs()
    if own is None or any(segment.step is not None or segment.conditions for segment in layout.segments):
        return None
    inputs = [(name, own.get(queue), dtype, shape) for name, queue, dtype, shape in spec.inputs]
    if len(inputs) != len(own) or layout.variables != spec.fixed.keys():
        return None
    taken = tuple((name, a, dtype, shape) for name, a, dtype, shape in inputs if a is not None and (a.dtype, a.shape) == (dtype, shape))
    if len(taken) < len(inputs):
        return None
    given = lease.take({**spec.fixed, **own}, spec.into)
    opened = lease.open()
    written = {**opened, **{queue: spec.into[queue] for queue in lease.targets.direct}}
    values = Values(lease.instance, given, written, {})
    made = _made(layout, values)
    if made is None or any(given[queue] is not entry for queue, entry in spec.fixed.items()):
        return None
    results = tuple(
        (name, value, lease.result_memory.copier(value))
        for name, queue, dtype, shape in spec.results
        if ((value := made[queue]).dtype, value.shape) == (dtype, shape)
    )
    kept = tuple((memory, made[queue]) for queue, memory in spec.into.items() if queue not in lease.targets.direct)
    if len(results) < len(spec.results) or _overlap([own for _, own, _ in results], kept, spec.into):
        return None
    status = lease.instance.status.data
    compute = _in_order([lease.bound(segment) for segment in layout.segments], status)
    return _Call(taken, lease.instance.rewound(), compute, status, kept, results, lease)


def _in_order(segments: Sequence[Callable[[], None]], status: memoryview) -> Callable[[], None]:
    """Run segments one after the other, up to one that fails."""
    if len(segments) == 1:
        return segments[0]

    def compute() -> None:
        for segment in segments:
            segment()
            if status[0]:
                return

    return compute


def _made(layout: Layout, values: Values) -> dict[str, NDArray] | None:
    """Return where a run leaves each result, in the type of its entry; None if one is held in another type, or by Python."""
    found: dict[str, NDArray] = {}
    for written in layout.written:
        if written.view is None:
            return None
        held = values.array(written.view)
        if computed(held, written.view.storage) is not held or held.dtype != written.dtype:
            return None
        found[written.queue] = held
    return found


def _overlap(results: Sequence[NDArray], kept: _Copies, into: Mapping[str, NDArray]) -> bool:
    """Return whether some memory of the caller's is copied from: it may hold the new value by then."""
    spans = [byte_bounds(memory) for memory in into.values() if memory.size]
    sources = [byte_bounds(own) for own in (*(own for _, own in kept), *results) if own.size]
    return any(start < last and first < end for start, end in spans for first, last in sources)
