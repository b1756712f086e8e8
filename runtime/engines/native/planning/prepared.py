"""A plan without code and weights: all that a graph becomes before anything is compiled or computed.

It is plain data, so that it can be kept (`plan_bytes`): a process that loads the same program again lowers nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ttc.dialects.core.records import record
from ttc.runtime.engines.native.graph.tensors import Place, PlanBuffer, View
from ttc.runtime.engines.native.planning.arena import Arena
from ttc.runtime.engines.native.planning.python_step import PythonStep
from ttc.runtime.engines.native.planning.template import Template


@record
class Segment:
    """A run of jobs [first, last), then a step in Python if there is one; it runs if all truths of `conditions` are what is beside them.

    alone: whether one thread computes the jobs.
    """

    first: int
    last: int
    step: PythonStep | None
    conditions: tuple[tuple[View, bool], ...] = ()
    alone: bool = False


@record
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


@record
class InPlace:
    """A result that may be written straight into memory of the caller's: no step fails once it is begun.

    Args:
        first: number of the first step that writes it.  The memory may be that of any entry that no step reads from there on.
        over: the other entries whose memory it may be, by queue, with numbers of jobs that are left out then: they copy what is there.
    """

    first: int
    over: Mapping[str, tuple[int, ...]]


@record
class Layout:
    """Where the memory of a run lies, and in which order it is computed.

    Args:
        bound: queues that change from run to run, and how their entries lie; None for those that Python holds.
        values: numbers of the values of these queues.
        variables: those of the queues whose entries stay in the same memory from run to run.
        in_place: by queue, results that may be written straight into the caller's memory.
        last_reads: by queue, number of the last step that reads its entry.
        narrowed: by queue, formats of 16 bits to which all jobs round an entry that they read.
    """

    segments: Sequence[Segment]
    bound: Mapping[str, View | None]
    written: Sequence[Written]
    arena: Arena
    values: Mapping[str, int]
    variables: frozenset[str]
    in_place: Mapping[str, InPlace]
    last_reads: Mapping[str, int]
    narrowed: Mapping[str, str]

    @property
    def run_bytes(self) -> int:
        """The bytes that a run takes beside constants: of the arena, of entries that it is given and of those that it writes."""
        views = [*self.bound.values(), *(written.view for written in self.written)]
        own = {view.buffer for view in views if view is not None and view.buffer.place is not Place.ARENA}
        return self.arena.size_bytes + sum(buffer.size_bytes for buffer in own)


@record
class ConstantJobs:
    """Jobs on constants alone, whose results are constants: they are run once, when the program is loaded.

    Args:
        reads, writes: buffers, by job.
        kept: constants that runs read.
    """

    template: Template
    reads: tuple[tuple[PlanBuffer, ...], ...]
    writes: tuple[tuple[PlanBuffer, ...], ...]
    kept: frozenset[PlanBuffer]


@record
class Prepared:
    """A prepared graph: memory, jobs of a run, and jobs before all runs.

    Args:
        template: the jobs of a run.
        packing: those before all runs.
    """

    layout: Layout
    template: Template
    packing: ConstantJobs

    def buffers(self) -> Iterator[PlanBuffer]:
        """Yield all buffers that the prepared graph names, some of them more than once."""
        yield from self.layout.arena.offsets
        truths = (view for segment in self.layout.segments for view, _ in segment.conditions)
        for view in (*self.layout.bound.values(), *(written.view for written in self.layout.written), *truths):
            if view is not None:
                yield view.buffer
        yield from self.template.patches
        yield from self.packing.template.patches
        for buffers in (*self.packing.reads, *self.packing.writes, self.packing.kept):
            yield from buffers
