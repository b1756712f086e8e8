"""Where the results of a run go: memory that the caller names, if they may be written there in place, or memory of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import ReferenceType, ref

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

from ttc.runtime.engines.into import check_memory, spans_of, spans_within
from ttc.runtime.engines.native.execution.instance import Instance
from ttc.runtime.engines.native.graph.storage import array_dtype
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.planning.prepared import Layout
from ttc.runtime.engines.native.planning.python_step import Mismatch


def _nothing() -> None:
    """What a reference to an array that is gone gives."""


@dataclass(slots=True)
class BoundEntry:
    """An entry that mostly lies in the same array from run to run.

    Args:
        known: a reference to the array that the jobs have the address of.
        span: its first byte, and the byte after its last.
    """

    queue: str
    view: View
    known: ReferenceType[Any] | Any = _nothing
    span: tuple[int, int] = (0, 0)

    def bound(self, instance: Instance, entry: NDArray) -> NDArray:
        """Put an entry in its place; gives the array that is read.  Raises Mismatch."""
        if entry.shape != self.view.shape or entry.dtype != array_dtype(self.view.storage):
            raise Mismatch(self.queue)
        whole = entry if entry.flags.c_contiguous else np.ascontiguousarray(entry)  # which gives a scalar another rank
        instance.bind(self.view.buffer, whole.ctypes.data)
        self.known = ref(entry) if whole is entry else _nothing
        self.span = byte_bounds(entry)
        return whole


@dataclass(slots=True)
class ResultTarget:
    """A result that is written whole into a buffer.

    Args:
        own: memory for a small one.
        in_place: whether it is written into the caller's memory.
    """

    queue: str
    view: View
    dtype: np.dtype
    own: NDArray | None
    in_place: bool = False


@dataclass
class Targets:
    """Says for each result where it is written, and remembers it for runs with the same memory.

    Args:
        written: references to the memory of the last run, by queue.
        apart: results that are not written in place.
        direct: queues of those that are.
        copied: queues whose results are copied into their memory at the end.
    """

    instance: Instance
    layout: Layout
    variables: Sequence[BoundEntry]
    outputs: Sequence[ResultTarget]
    written: dict[str, ReferenceType[NDArray]] = field(default_factory=dict)
    apart: Sequence[ResultTarget] = ()
    direct: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()
    _valid: bool = False
    _spans: list[tuple[int, int, str]] = field(default_factory=list)

    def forget(self) -> None:
        """Forget the memory of the last run: an entry lies elsewhere now."""
        self._valid = False

    def covers(self, entry: NDArray) -> bool:
        """Return whether a result is written in place over some of an entry."""
        return bool(self._spans) and bool(spans_within(self._spans, entry))

    def aim(self, into: Mapping[str, NDArray]) -> None:
        """Have results written there.  Raises E0601, E0602 for memory that does not fit."""
        written = self.written
        if self._valid and len(into) == len(written):
            for queue, memory in into.items():
                known = written.get(queue)
                if known is None or known() is not memory:
                    break
            else:
                return
        self._aim(into)

    def _aim(self, into: Mapping[str, NDArray]) -> None:
        self._valid, self.written, self._spans = False, {}, []
        dtypes = {item.queue: (item.view, item.dtype) for item in self.layout.written}
        for queue, memory in into.items():
            view, dtype = dtypes.get(queue, (None, None))
            check_memory(queue, memory, None if view is None else view.shape, dtype)
        spans = spans_of(into)
        left_out: dict[int, bool] = {}
        for output in self.outputs:
            memory, before = into.get(output.queue), output.in_place
            copies = None if memory is None else self._copies(output.queue, memory)
            output.in_place = memory is not None and copies is not None
            if memory is not None and output.in_place:
                self.instance.bind(output.view.buffer, memory.ctypes.data)
            elif before and output.own is not None:
                self.instance.bind(output.view.buffer, output.own.ctypes.data)
            place = self.layout.in_place.get(output.queue)
            jobs = () if place is None else (job for each in place.over.values() for job in each)
            left_out |= {job: job in (copies or ()) for job in jobs}
        self.instance.leave_out(left_out)
        self.apart = tuple(output for output in self.outputs if not output.in_place)
        self.direct = tuple(output.queue for output in self.outputs if output.in_place)
        chosen = frozenset(self.direct)
        self.copied = tuple(queue for queue in into if queue not in chosen)
        self._spans = [span for span in spans if span[2] in chosen]
        self.written = {queue: ref(memory) for queue, memory in into.items()}
        self._valid = True

    def _copies(self, queue: str, memory: NDArray) -> tuple[int, ...] | None:
        """Jobs that are left out if a result is written into this memory in place; None if it must not be."""
        place = self.layout.in_place.get(queue)
        if place is None:
            return None
        start, end = byte_bounds(memory)
        found: list[int] = []
        for variable in self.variables:
            first, last = variable.span
            if last <= start or end <= first:
                continue
            same, over = (first, last) == (start, end), place.over.get(variable.queue)
            if not same or (over is None and self.layout.last_reads[variable.queue] >= place.first):
                return None
            found.extend(over or ())
        return tuple(found)
