"""Runs of a plan by one prepared call: what is the same at each run is looked up, checked and filled in once.

Small arrays are copied; jobs read large ones where they lie, and write large results into arrays that are given away.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

from ttc.dialects.core.formats.text import STRING
from ttc.dialects.core.kernels.text import given_texts
from ttc.dialects.core.plain.interpret import Resolver
from ttc.dialects.core.records import record
from ttc.runtime.engines.base import ShortRun, ShortSpec
from ttc.runtime.engines.native.execution.lease import Lease
from ttc.runtime.engines.native.execution.on_memory import OnMemory
from ttc.runtime.engines.native.execution.values import ABSENT, RunValues
from ttc.runtime.engines.native.graph.storage import array_dtype, computed
from ttc.runtime.engines.native.graph.tensors import PlanBuffer, View
from ttc.runtime.engines.native.planning.python_step import Mismatch
from ttc.runtime.engines.result_memory import ResultMemory

if TYPE_CHECKING:
    from ttc.runtime.engines.native.planning.prepared import Layout

_Copies = tuple[tuple[NDArray, NDArray], ...]
"""Arrays with what is copied into them."""
_NOTHING: dict[int, Any] = {}
_TEXT = np.empty(0, STRING)
"""Stands for text until a run has some."""
_GIVEN_AWAY = np.empty(0, np.uint8)
"""Stands for the memory of a large result, which is new at each run."""


class _Fresh:
    """A large result, written into new memory at each run.

    Args:
        like: an array of its shape and dtype.
        bind: puts it at an address.
    """

    def __init__(self, memory: ResultMemory, like: NDArray, bind: Callable[[int], None]) -> None:
        self._memory, self._shape, self._dtype, self._bind = memory, like.shape, like.dtype, bind
        self._array: NDArray | None = None

    def open(self) -> None:
        """Make the memory of the next run.  Raises MemoryError."""
        self._array = None  # what a run that failed left here may be used again
        self._array = array = self._memory.array(self._shape, self._dtype)
        self._bind(array.ctypes.data)

    def taken(self) -> NDArray:
        """Return what the run wrote, to be given away."""
        array, self._array = self._array, None
        assert array is not None
        return array


@record(eq=False)
class _Call:
    """One lease that is ready for the next run.

    Args:
        inputs: names with memory of the inputs, their dtypes and shapes, and what rounds them; None where nothing does.
        large: names of inputs that are read where they lie, what puts each at an address, and their dtypes and shapes.
        on_memory: has inputs and results lie where a caller has them; None where some of them are no memory, or inputs are rounded.
        fresh: results that are written into new memory.
        texts: names of inputs that Python holds, the numbers of their values, and shapes.
        unread: names of inputs that nothing reads, their dtypes and shapes.
        rewind: makes the instance ready for a run.
        compute: runs all jobs and steps.
        status: its first element is 0 after a run that went well.
        kept: what the run made that goes into memory of the caller's.
        results: names with what the run made for the user, and what makes a copy of that, or gives it away.
        values: what steps in Python work on; None if there are none.
        held: the values that are the same in all runs, by number.
        lease: whose memory all of these lie in.
    """

    inputs: tuple[tuple[str, NDArray, np.dtype, tuple[int, ...], Callable[[NDArray], NDArray] | None], ...]
    large: tuple[tuple[str, Callable[[int], None], np.dtype, tuple[int, ...]], ...]
    on_memory: OnMemory | None
    fresh: tuple[_Fresh, ...]
    texts: tuple[tuple[str, int, tuple[int, ...]], ...]
    unread: tuple[tuple[str, np.dtype, tuple[int, ...]], ...]
    rewind: Callable[[int], None]
    compute: Callable[[], None]
    status: memoryview
    kept: _Copies
    results: tuple[tuple[str, NDArray, Callable[[], NDArray]], ...]
    values: RunValues | None
    held: Mapping[int, Any]
    lease: Lease

    def run(self, given: Mapping[str, object]) -> dict[str, NDArray] | None:
        """Return the results; None if an input is not an array as it is expected, there is no memory for large results, or data is out of
        range: nothing has changed then.

        Raises what steps in Python do, MemoryError for a copy of a result, and E0801 for what is no text.
        """
        if self.on_memory is not None:
            self.on_memory.leave()
        for name, dtype, shape in self.unread:
            value = given.get(name)
            if type(value) is not np.ndarray or value.dtype != dtype or value.shape != shape:
                return None
        for name, own, dtype, shape, rounding in self.inputs:
            value = given.get(name)
            if type(value) is not np.ndarray or value.dtype != dtype or value.shape != shape:
                return None
            own[...] = value if rounding is None else rounding(value)
        for name, bind, dtype, shape in self.large:
            value = given.get(name)
            if type(value) is not np.ndarray or value.dtype != dtype or value.shape != shape:
                return None
            flags = value.flags
            if not (flags.c_contiguous and flags.aligned):
                return None
            bind(value.ctypes.data)
        found = self._computed() if self.values is None else self._run_steps(self.values, given)
        return None if found is None else {name: array for (name, _, _), array in zip(self.results, found, strict=True)}

    def run_at(self, inputs: Sequence[int], results: Sequence[int]) -> bool:
        """As `run`, on memory; see `ShortRun.at`."""
        memory = self.on_memory
        if memory is None or (len(inputs), len(results)) != memory.counts:
            return False
        memory.place(inputs, results)
        self.rewind(0)
        self.compute()
        if self.status[0]:
            return False
        memory.take(results)
        for kept, own in self.kept:
            kept[...] = own
        return True

    def _computed(self) -> list[NDArray] | None:
        """Return the results, once all inputs are in their places."""
        try:
            for result in self.fresh:
                result.open()
        except MemoryError:  # the reference engine may do with less
            return None
        made = [copy() for _, _, copy in self.results] if self.kept else None  # before anything of the caller's is written
        self.rewind(0)
        self.compute()
        if self.status[0]:
            return None
        if made is None:
            return [copy() for _, _, copy in self.results]
        for result, (_, own, _) in zip(made, self.results, strict=True):
            result[...] = own
        for memory, own in self.kept:
            memory[...] = own
        return made

    def _run_steps(self, values: RunValues, given: Mapping[str, object]) -> list[NDArray] | None:
        """As `run`, with steps in Python, on inputs that are in their places but for text."""
        objects = dict(self.held)
        for name, number, shape in self.texts:
            value = given.get(name)
            if type(value) is not np.ndarray or value.shape != shape:
                return None
            objects[number] = given_texts(value, f"input '{name}'")
        values.objects = objects
        try:
            self.rewind(0)
            with np.errstate(all="ignore"):
                self.compute()
            return None if self.status[0] else [copy() for _, _, copy in self.results]
        except (Mismatch, MemoryError):
            return None
        finally:
            values.objects = _NOTHING


def short_run(spec: ShortSpec, layout: Layout, new_lease: Callable[[], Lease], resolve: Callable[[], Resolver]) -> ShortRun | None:
    """Return a prepared run of a plan; None unless all is native jobs and a few steps in Python without regions, on small arrays of the
    user's types.
    """
    first = _call_of(spec, layout, new_lease(), resolve)
    return None if first is None else _Calls(first, lambda: _call_of(spec, layout, new_lease(), resolve))


class _Calls:
    """Prepared calls, as many as run at a time; see `ShortRun`.

    Args:
        another: makes one more.
    """

    __slots__ = ("_another", "_free")

    def __init__(self, first: _Call, another: Callable[[], _Call | None]) -> None:
        self._free = deque([first])  # no lock: a child process may be forked while one is held
        self._another = another

    def __call__(self, given: Mapping[str, object], /) -> dict[str, NDArray] | None:
        call = self._taken()
        try:
            return call.run(given)
        finally:
            self._free.append(call)

    def at(self, inputs: Sequence[int], results: Sequence[int], /) -> bool:
        call = self._taken()
        try:
            return call.run_at(inputs, results)
        finally:
            self._free.append(call)

    def _taken(self) -> _Call:
        try:
            return self._free.pop()
        except IndexError:
            call = self._another()
            assert call is not None
            return call


def _call_of(spec: ShortSpec, layout: Layout, lease: Lease, resolve: Callable[[], Resolver]) -> _Call | None:
    own = lease.inputs()
    stepped = any(segment.step is not None for segment in layout.segments)
    if own is None or any(segment.conditions for segment in layout.segments) or (stepped and (spec.into or spec.fixed)):
        return None
    inputs = [(name, queue, own[queue], dtype, shape) for name, queue, dtype, shape in spec.inputs if queue in own]
    unread = tuple((name, dtype, shape) for name, queue, dtype, shape in spec.inputs if queue not in own)
    if len(inputs) != len(own) or layout.variables != spec.fixed.keys():
        return None
    alike = [
        (name, a, dtype, shape) for name, _, a, dtype, shape in inputs if isinstance(a, np.ndarray) and (a.dtype, a.shape) == (dtype, shape)
    ]
    taken = tuple((*item, spec.rounded.get(item[0])) for item in alike)
    texts = tuple((name, layout.values[queue], shape) for name, queue, a, dtype, shape in inputs if a is None and dtype == STRING)
    views = [(name, a, dtype, shape) for name, _, a, dtype, shape in inputs if isinstance(a, View) and name not in spec.rounded]
    large = tuple((name, lease.instance.binder(a.buffer), dtype, shape) for name, a, dtype, shape in views if _shows(a, dtype, shape))
    if len(taken) + len(texts) + len(large) < len(inputs) or (large and (stepped or spec.into)):
        return None
    shown = Counter(written.view.buffer for written in layout.written if written.view is not None)
    if any(view.buffer in shown for _, view, _, _ in views):
        return None
    first = {**spec.fixed, **{queue: _first(memory) for queue, memory in own.items()}}
    given = lease.take(first, spec.into)
    opened = lease.open()
    written = {**opened, **{queue: spec.into[queue] for queue in lease.targets.direct}}
    held = {ABSENT: None, **{layout.values[queue]: entry for queue, entry in given.items() if queue in layout.values}}
    values = RunValues(lease.instance, given, written, dict(held))
    made = _made(layout, values)
    if made is None or any(given[queue] is not entry for queue, entry in spec.fixed.items()):
        return None
    fresh = {} if stepped or spec.into else _fresh(lease, made, shown)
    results = tuple(
        (name, _GIVEN_AWAY, fresh[queue].taken) if queue in fresh else (name, value, lease.result_memory.copier(value))
        for name, queue, dtype, shape in spec.results
        if ((value := made[queue]).dtype, value.shape) == (dtype, shape)
    )
    kept = tuple((memory, made[queue]) for queue, memory in spec.into.items() if queue not in lease.targets.direct)
    if len(results) < len(spec.results) or _overlap([own for _, own, _ in results], kept, spec.into):
        return None
    compute = _in_order(lease, values, resolve)
    on_memory = None if stepped or texts or spec.rounded else _on_memory(spec, layout, lease, own, made, shown)
    rewind, kept_values = lease.instance.rewound(), values if stepped else None
    computed_by = rewind, compute, lease.status
    return _Call(taken, large, on_memory, tuple(fresh.values()), texts, unread, *computed_by, kept, results, kept_values, held, lease)


def _on_memory(
    spec: ShortSpec,
    layout: Layout,
    lease: Lease,
    own: Mapping[str, NDArray | View | None],
    made: Mapping[str, NDArray],
    shown: Mapping[PlanBuffer, int],
) -> OnMemory | None:
    """Return what has a run lie in a caller's memory; None where a large input cannot be read there.

    Where states are written in place, inputs and results are copied: they may be the memory of states.

    Args:   own: memory of inputs, as `Lease.inputs` has it.  made: where results are.  shown: how many results each buffer has a part in.
    """
    views = {queue: view for queue, view in layout.bound.items() if view is not None}
    inputs: list[PlanBuffer | NDArray | None] = []
    for _, queue, dtype, shape in spec.inputs:
        if queue not in own:
            inputs.append(None)
            continue
        view, memory = views[queue], own[queue]
        if not spec.into and view.buffer not in shown and _shows(view, dtype, shape):
            inputs.append(view.buffer)
        elif isinstance(memory, np.ndarray):
            inputs.append(memory)
        else:
            return None
    wanted = Counter(queue for _, queue, _, _ in spec.results)
    apart = {target.queue: target for target in lease.targets.apart if shown[target.view.buffer] == wanted[target.queue] == 1}
    targets = {} if spec.into else apart
    results = [targets[queue].view.buffer if queue in targets else made[queue] for _, queue, _, _ in spec.results]
    if any(isinstance(result, np.ndarray) and not result.flags.c_contiguous for result in results):
        return None
    home = {views[queue].buffer: memory for queue, memory in own.items() if isinstance(memory, np.ndarray)}
    home |= {target.view.buffer: target.own for target in apart.values() if target.own is not None}
    return OnMemory(lease.instance, inputs, results, home, lease.code)


def _shows(view: View, dtype: np.dtype, shape: tuple[int, ...]) -> bool:
    """Return whether an array is read as a view shows it."""
    return (array_dtype(view.storage), view.shape) == (dtype, shape)


def _first(memory: NDArray | View | None) -> NDArray:
    """Return what stands for an input until a run has one."""
    if isinstance(memory, View):
        return np.empty(memory.shape, array_dtype(memory.storage))
    return _TEXT if memory is None else memory


def _fresh(lease: Lease, made: Mapping[str, NDArray], shown: Mapping[PlanBuffer, int]) -> dict[str, _Fresh]:
    """Return large results, by queue.  shown: how many results each buffer has a part in."""
    alone = [(queue, view.buffer) for queue, view in lease.large_results().items() if shown[view.buffer] == 1]
    return {queue: _Fresh(lease.result_memory, made[queue], lease.instance.binder(buffer)) for queue, buffer in alone}


def _in_order(lease: Lease, values: RunValues, resolve: Callable[[], Resolver]) -> Callable[[], None]:
    """Return what runs segments and steps one after the other, up to one that fails."""
    segments: list[Callable[[], None]] = []
    for _, jobs, step in lease.sequence(values, resolve):
        if jobs is not None:
            segments.append(jobs)
        if step is not None:
            segments.append(partial(step, values))
    status = lease.status
    if len(segments) == 1:
        return segments[0]

    def compute() -> None:
        for segment in segments:
            segment()
            if status[0]:
                return

    return compute


def _made(layout: Layout, values: RunValues) -> dict[str, NDArray] | None:
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
