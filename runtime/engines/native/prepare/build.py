"""From a graph to what is kept of it: flatten, fuse, lower, place, and list the jobs."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.plain.evaluate import MALFORMED
from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.netlist.model import Graph, Netlist
from ttc.runtime.engines.base import HELD
from ttc.runtime.engines.native.codegen.features import Cpu
from ttc.runtime.engines.native.graph.constants import constant_view
from ttc.runtime.engines.native.graph.nodes import Flat, Node, flatten
from ttc.runtime.engines.native.graph.ranges import IntegerFacts
from ttc.runtime.engines.native.graph.region import result_storage
from ttc.runtime.engines.native.graph.storage import Storage, array_dtype, needs_rounding, storage_of_dtype
from ttc.runtime.engines.native.graph.tensors import Buffer, Place, View, dense
from ttc.runtime.engines.native.jobs.copies import copy, round_in_place
from ttc.runtime.engines.native.jobs.job import Job, NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lower, Lowering
from ttc.runtime.engines.native.lower import lowering_of
from ttc.runtime.engines.native.planning.arena import plan_arena
from ttc.runtime.engines.native.planning.in_place import InPlaces, Use, may_be_in_place, reordered, use_of
from ttc.runtime.engines.native.planning.prepared import ConstantJobs, Layout, Prepared, Segment, Written
from ttc.runtime.engines.native.planning.python_step import PythonStep
from ttc.runtime.engines.native.planning.steps import Step, buffers_of
from ttc.runtime.engines.native.planning.template import template_of
from ttc.runtime.engines.native.prepare.choices import note_conditions
from ttc.runtime.engines.native.prepare.fusion import ELEMENTWISE, fuse_regions
from ttc.runtime.engines.native.prepare.integers import integers_of
from ttc.runtime.engines.native.prepare.keep_wide import keep_wide
from ttc.runtime.engines.native.prepare.literals import literal_view
from ttc.runtime.engines.native.prepare.packed_inside import with_packing_inside
from ttc.runtime.engines.native.prepare.reshapes import sink_reshapes
from ttc.runtime.engines.native.prepare.shape_rules import is_sound
from ttc.runtime.engines.native.prepare.small_runs import is_small
from ttc.runtime.engines.native.prepare.wanted import wanted_layouts
from ttc.runtime.tensors import Constants

CONVERTING = (*ELEMENTWISE, "tile.argmax", "tile.argmin", "tile.order", "tile.sfpu", "tile.binary", "tile.relu", "tile.rescale")
"""Ops whose results may be of another kind of numbers than their operands."""


@dataclass
class Lowered:
    """A graph as steps in order.

    Args:
        views: where values lie; None for those that Python holds.
        refusals: nodes that run in Python, with the reason.
        wanted: places that results would best be written to.
        integers: what is known of those that are multiplied.
    """

    flat: Flat
    wanted: Mapping[int, View] = field(default_factory=dict)
    integers: IntegerFacts | None = None
    steps: list[Step] = field(default_factory=list)
    views: dict[int, View | None] = field(default_factory=dict)
    refusals: list[tuple[Node, str]] = field(default_factory=list)


def lower_graph(graph: Graph, netlist: Netlist, constants: Constants, cpu: Cpu) -> Lowered:
    """Jobs and Python steps of a graph; none if an op lies about the shapes of its results.  Raises E0601, E0609."""
    flat = flatten(graph, netlist)
    unsound = [node for node in flat.nodes if not is_sound(node.work, [None if i is None else flat.types[i] for i in node.operands])]
    if unsound:
        return Lowered(flat, refusals=[(node, "results of other shapes than it says") for node in unsound])
    keep_wide(flat, cpu)
    sink_reshapes(flat)
    note_conditions(flat)
    fuse_regions(flat)
    lowered = Lowered(flat, wanted_layouts(flat))
    for name, value in flat.queues.items():
        queue = netlist.queues[name]
        held = queue.kind in HELD and queue.key is not None
        lowered.views[value] = constant_view(constants, str(queue.key)) if held else _bound(name, queue.tensor)
    lowered.integers = integers_of(flat, lowered.views)
    unread = {value for value, _ in flat.writes}.difference(value for node in flat.nodes for value in node.reads)
    for node in flat.nodes:
        _lower(lowered, node, cpu)
        _widen_written(lowered, node, unread.intersection(node.results), cpu)
    return lowered


def _widen_written(lowered: Lowered, node: Node, unread: set[int], cpu: Cpu) -> None:
    """Results in bfloat16 that queues alone read, and that no region has widened, become entries, which are float32, in native code."""
    for value in unread:
        view = lowered.views[value]
        if view is None or view.storage != "bf16" or view.buffer.place is not Place.ARENA:
            continue
        lowering = Lowering(node, lowered.views, lowered.flat.types, cpu)
        lowered.views[value] = target = lowering.temp(view.shape, "f32")
        copy(lowering, view, target)
        lowered.steps.extend(lowering.jobs)


def _bound(name: str, type_: TensorType) -> View | None:
    dtype = format_named(type_.format).compute
    storage = storage_of_dtype(dtype)
    if storage is None or -1 in type_.shape:
        return None
    return dense(Buffer(type_.elements * dtype.itemsize, Place.BOUND, queue=name), storage, type_.shape)


def _lower(lowered: Lowered, node: Node, cpu: Cpu) -> None:
    literal = literal_view(node)
    if literal is not None:
        lowered.views[node.results[0]] = literal
        return
    lower = lowering_of(node.work.op)
    lowering = Lowering(node, lowered.views, lowered.flat.types, cpu, lowered.wanted, lowered.integers)
    try:
        _apply(lower, lowering, lowered.flat.types)
    except (NotTaken, Error, *MALFORMED) as reason:
        if node.parts:
            for part in node.parts:
                _lower(lowered, part, cpu)
            return
        lowered.refusals.append((node, str(reason) if isinstance(reason, NotTaken) else f"{type(reason).__name__}: {reason}"))
        _in_python(lowered, node)
        return
    lowered.steps.extend(lowering.jobs)
    for index, value in enumerate(node.results):
        lowered.views[value] = lowering.results[index]


def _apply(lower: Lower | None, lowering: Lowering, formats: Sequence[TensorType]) -> None:
    """Lower the node by the rule of its op.  Raises NotTaken."""
    node = lowering.node
    if lower is None:
        raise NotTaken("no lowering")
    types = [*node.work.results, *(lowering.type_of(i) for i, v in enumerate(node.operands) if v is not None)]
    if any(-1 in type_.shape for type_ in types):
        raise NotTaken("sizes that depend on data")
    if any(type_.elements == 0 for type_ in types):
        raise NotTaken("no elements")
    _require_kind(node, types)
    lower(lowering)
    for index, value in enumerate(node.results):
        if lowering.rounds and needs_rounding(formats[value].format):
            round_in_place(lowering, lowering.results[index], formats[value].format)


def _require_kind(node: Node, types: Sequence[TensorType]) -> None:
    """Raises NotTaken where the result is of another kind of numbers than the first operand, which the op does not convert by itself."""
    if node.work.op in CONVERTING or len(types) < 2:
        return
    result, first = (format_named(type_.format) for type_ in (types[0], types[len(node.work.results)]))
    if not (result.is_float and first.is_float) and result.compute != first.compute:
        raise NotTaken(f"{types[0].format} of {types[len(node.work.results)].format}")


def _in_python(lowered: Lowered, node: Node) -> None:
    """A step in Python, whose results lie in memory where their size is known."""
    targets: list[View | None] = []
    for value, type_ in zip(node.results, node.work.results, strict=True):
        storage = None if -1 in type_.shape or type_.elements == 0 else result_storage(type_, node.unrounded)
        lowered.views[value] = None if storage is None else _temporary(type_, storage)
        targets.append(lowered.views[value])
    sources = tuple(None if value is None else lowered.views[value] for value in node.operands)
    dtypes = (None if value is None else format_named(lowered.flat.types[value].format).compute for value in node.operands)
    lowered.steps.append(PythonStep(node, sources, tuple(targets), tuple(dtypes)))


def _temporary(type_: TensorType, storage: Storage) -> View:
    return dense(Buffer(type_.elements * array_dtype(storage).itemsize), storage, type_.shape)


# ---- from steps to a layout -----------------------------------------------------------------------------------------------------------


def prepared_of(lowered: Lowered, netlist: Netlist, threads: int) -> tuple[Prepared, list[Job], list[Job]] | None:
    """What is kept of a graph, the jobs that pack its constants, and those of a run; None if no op has a kernel."""
    if not any(isinstance(step, Job) for step in lowered.steps):
        return None
    first, steps = split_constant(lowered.steps)
    layout, steps = _layout(lowered, with_packing_inside(steps), netlist)
    jobs = [step for step in steps if isinstance(step, Job)]
    kept = {buffer for step in steps for buffers in buffers_of(step) for buffer in buffers}
    kept |= {written.view.buffer for written in layout.written if written.view is not None}
    reads, writes = zip(*(buffers_of(job) for job in first), strict=True) if first else ((), ())
    packing = ConstantJobs(
        template_of(first, threads, frozenset(range(len(first)))),
        tuple(tuple(dict.fromkeys(buffers)) for buffers in reads),
        tuple(tuple(dict.fromkeys(buffers)) for buffers in writes),
        frozenset(buffer for buffer in kept if buffer.place is Place.CONSTANT),
    )
    borders = frozenset(segment.last - 1 for segment in layout.segments)
    return Prepared(layout, template_of(jobs, threads, borders), packing), first, jobs


def split_constant(steps: Sequence[Step]) -> tuple[list[Job], list[Step]]:
    """Jobs that work on constants alone, and all other steps; results of the former become constants."""
    variable: set[Buffer] = set()
    changed = True
    while changed:
        changed = False
        for step in steps:
            sources, targets = buffers_of(step)
            free = isinstance(step, PythonStep) or not sources or any(_varies(buffer, variable) for buffer in (*sources, *targets))
            if free and not variable.issuperset(targets):
                variable.update(targets)
                changed = True
    first = [s for s in steps if isinstance(s, Job) and not variable.intersection(buffers_of(s)[1])]
    for job in first:
        for view in job.written:
            view.buffer.place = Place.CONSTANT
    chosen = {id(job) for job in first}
    return first, [step for step in steps if id(step) not in chosen]


def _varies(buffer: Buffer, variable: set[Buffer]) -> bool:
    return buffer in variable or buffer.place in (Place.BOUND, Place.STATUS)


def _layout(lowered: Lowered, steps: Sequence[Step], netlist: Netlist) -> tuple[Layout, list[Step]]:
    """Places of all buffers and segments of native code, and the steps in the order in which they run."""
    written = _written(lowered, netlist)
    queues = {name: value for name, value in lowered.flat.queues.items() if netlist.queues[name].kind not in HELD}
    bound = {name: lowered.views[value] for name, value in queues.items()}
    uses = [use_of(step, [view for view, _ in _truths(lowered, step)]) for step in steps]
    variables = frozenset(name for name in bound if netlist.queues[name].kind == "state")
    replaced = _replaced(netlist, variables, written) if may_be_in_place(written, bound) else {}
    uses = reordered(uses, written, bound, replaced)
    places = InPlaces(uses, written, bound)
    in_place, steps = places.found() if replaced else {}, [use.step for use in uses]
    arena = plan_arena(_lifetimes(uses, written))
    segments = _segments(lowered, steps, places.begin if in_place else len(steps))
    return Layout(segments, bound, written, arena, queues, variables, in_place, places.last_reads()), steps


def _lifetimes(uses: Sequence[Use], written: Sequence[Written]) -> dict[Buffer, tuple[int, int]]:
    """The first and the last step that need each buffer of the arena."""
    found: dict[Buffer, tuple[int, int]] = {}
    for number, use in enumerate(uses):
        for buffer in (*use.reads, *use.writes):
            if buffer.place is Place.ARENA:
                found[buffer] = (found.get(buffer, (number, number))[0], number)
    for item in written:
        if item.view is not None and item.view.buffer.place is Place.ARENA:
            first = found.get(item.view.buffer, (0, 0))[0]
            found[item.view.buffer] = (first, len(uses))
    return found


def _replaced(netlist: Netlist, states: Collection[str], written: Sequence[Written]) -> dict[str, str]:
    """By the queue of a result, the state that it most likely replaces: the one that a program updates with it, else one of its type."""
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


def _written(lowered: Lowered, netlist: Netlist) -> list[Written]:
    """How each queue gets its entry: the first that shows a buffer of ours whole may have the buffer itself."""
    found: list[Written] = []
    for value, queue in lowered.flat.writes:
        view = lowered.views[value]
        dtype = format_named(netlist.queues[queue].tensor.format).compute
        own = view is not None and view.buffer.place is Place.ARENA and view.is_whole
        in_place = own and view is not None and array_dtype(view.storage) == dtype and view.storage != "bf16"
        if in_place and view is not None:
            view.buffer.place, view.buffer.queue = Place.WRITTEN, queue
        found.append(Written(queue, value, view, in_place, dtype))
    return found


def _truths(lowered: Lowered, step: Step) -> tuple[tuple[View, bool], ...]:
    """The conditions of a step that can be looked at: what Python holds is not."""
    views = ((lowered.views[value], wanted) for value, wanted in step.node.conditions)
    return tuple((view, wanted) for view, wanted in views if view is not None)


def _segments(lowered: Lowered, steps: Sequence[Step], begin: int) -> list[Segment]:
    """Neighbouring jobs under the same conditions, each with the step in Python after them.  begin: the step that a segment begins with."""
    segments: list[Segment] = []
    first, jobs = 0, list[Job]()
    for (conditions, _), group in groupby(enumerate(steps), key=lambda item: (_truths(lowered, item[1]), item[0] >= begin)):
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
