"""Orders the steps of a run, and says where their buffers lie and which runs of jobs there are."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from itertools import groupby

from ttc.dialects.core.formats import format_named
from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.netlist.model import Netlist
from ttc.runtime.engines.base import HELD
from ttc.runtime.engines.native.graph.storage import array_dtype
from ttc.runtime.engines.native.graph.tensors import Place, PlanBuffer, View
from ttc.runtime.engines.native.jobs.job import Job
from ttc.runtime.engines.native.planning.arena import Arena, plan_arena
from ttc.runtime.engines.native.planning.in_place import InPlaces, StepUse, may_be_in_place, overlaid, reordered, use_of
from ttc.runtime.engines.native.planning.memory_order import compact_order
from ttc.runtime.engines.native.planning.prepared import Segment, Written
from ttc.runtime.engines.native.planning.python_step import PythonStep
from ttc.runtime.engines.native.planning.steps import Step
from ttc.runtime.engines.native.prepare.draft import Draft
from ttc.runtime.engines.native.prepare.rewriter import Allow
from ttc.runtime.engines.native.prepare.small_runs import is_small


def write_in_place(draft: Draft, allow: Allow) -> None:
    """Order the steps so that they need less memory and results can be written over the entries they replace; record which can."""
    draft.written = _written(draft)
    queues = [name for name in draft.flat.queues if draft.netlist.queues[name].kind not in HELD]
    draft.bound = {name: draft.views[draft.flat.queues[name]] for name in queues}
    uses = [use_of(step, [view for view, _ in _truths(draft, step)]) for step in draft.steps]
    uses = _compacted(uses, draft.written, allow)
    pairs = replaced(draft.netlist, draft.variables, draft.written) if may_be_in_place(draft.written, draft.bound) else {}
    draft.uses = reordered(uses, draft.written, draft.bound, pairs)
    draft.steps = [use.step for use in draft.uses]
    places = InPlaces(draft.uses, draft.written, draft.bound)
    found = places.found() if pairs else {}
    draft.in_place = {queue: place for queue, place in found.items() if allow("write-in-place", draft.steps[place.first].node)}
    draft.begin = places.begin if draft.in_place else len(draft.steps)
    draft.last_reads = places.last_reads()


def _compacted(uses: list[StepUse], written: Sequence[Written], allow: Allow) -> list[StepUse]:
    """Return steps in the order in which they need less memory; as they are where some have conditions, which keep runs together."""
    if any(use.conditional for use in uses):
        return uses
    found = compact_order(uses, {item.view.buffer for item in written if item.view is not None})
    moved = next((number for place, number in enumerate(found) if place != number), None)
    return uses if moved is None or not allow("compact-order", uses[moved].step.node) else [uses[number] for number in found]


def place_buffers(draft: Draft) -> None:
    """Give each buffer of the arena a place that no other buffer has while it is needed, but for one that is computed over another."""
    lifetimes = _lifetimes(draft.uses, draft.written)
    over = overlaid(draft.uses, lifetimes)
    first: dict[PlanBuffer, PlanBuffer] = {}
    for buffer in over:
        first[buffer] = first.get(over[buffer], over[buffer])
    joined = dict(lifetimes)
    for buffer, place in first.items():
        joined[place] = joined[place][0], max(joined[place][1], joined.pop(buffer)[1])
    arena = plan_arena(joined)
    draft.arena = Arena({buffer: arena.offsets[first.get(buffer, buffer)] for buffer in lifetimes}, arena.size_bytes)


def cut_segments(draft: Draft) -> None:
    """Join neighbouring jobs to runs of native code, which one thread computes alone where they are small."""
    draft.segments = _segments(draft, draft.steps, draft.begin)


def _lifetimes(uses: Sequence[StepUse], written: Sequence[Written]) -> dict[PlanBuffer, tuple[int, int]]:
    """Return the first and the last step that need each buffer of the arena."""
    found: dict[PlanBuffer, tuple[int, int]] = {}
    for number, use in enumerate(uses):
        for buffer in (*use.reads, *use.writes):
            if buffer.place is Place.ARENA:
                found[buffer] = (found.get(buffer, (number, number))[0], number)
    for item in written:
        if item.view is not None and item.view.buffer.place is Place.ARENA:
            first = found.get(item.view.buffer, (0, 0))[0]
            found[item.view.buffer] = (first, len(uses))
    return found


def replaced(netlist: Netlist, states: Collection[str], written: Sequence[Written]) -> dict[str, str]:
    """Return the state that each result most likely replaces, by its queue: one that a program updates with it, else one of its type."""
    named = {str(key): name for name in states for key in (name, netlist.queues[name].key)}
    updates = {result.queue: result.updates for program in netlist.programs.values() for result in program.results if result.updates}
    found = {item.queue: named[key] for item in written if (key := updates.get(item.queue, item.queue)) in named}
    taken = set(found.values())
    free: dict[TensorType, deque[str]] = {}
    for name in sorted(states):
        if name not in taken:
            free.setdefault(netlist.queues[name].tensor, deque()).append(name)
    for item in written:
        left = free.get(netlist.queues[item.queue].tensor)
        if item.queue not in found and left:
            found[item.queue] = left.popleft()
    return found


def _written(draft: Draft) -> list[Written]:
    """Return how each queue gets its entry: the first that shows a buffer of ours whole may have the buffer itself."""
    found: list[Written] = []
    for value, queue in draft.flat.writes:
        view = draft.views[value]
        dtype = format_named(draft.netlist.queues[queue].tensor.format).compute
        own = view is not None and view.buffer.place is Place.ARENA and view.is_whole
        in_place = own and view is not None and array_dtype(view.storage) == dtype and view.storage != "bf16"
        if in_place and view is not None:
            view.buffer.place, view.buffer.queue = Place.WRITTEN, queue
        found.append(Written(queue, value, view, in_place, dtype))
    return found


def _truths(draft: Draft, step: Step) -> tuple[tuple[View, bool], ...]:
    """Return the conditions of a step that can be looked at: what Python holds is not."""
    views = ((draft.views[value], wanted) for value, wanted in step.node.conditions)
    return tuple((view, wanted) for view, wanted in views if view is not None)


def _segments(draft: Draft, steps: Sequence[Step], begin: int) -> list[Segment]:
    """Neighbouring jobs under the same conditions, each with the step in Python after them.  begin: the step that a segment begins with."""
    segments: list[Segment] = []
    first, jobs = 0, list[Job]()
    for (conditions, _), group in groupby(enumerate(steps), key=lambda item: (_truths(draft, item[1]), item[0] >= begin)):
        for _, step in group:
            if isinstance(step, PythonStep):
                segments.append(Segment(first, first + len(jobs), step, conditions, is_small(jobs)))
                first, jobs = first + len(jobs), []
            else:
                jobs.append(step)
        if jobs:
            segments.append(Segment(first, first + len(jobs), None, conditions, is_small(jobs)))
            first, jobs = first + len(jobs), []
    return segments
