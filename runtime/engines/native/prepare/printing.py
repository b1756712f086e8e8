"""Nodes, jobs and memory of a plan as lines of text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from ttc.dialects.core.plain.functions import Plain, TensorType
from ttc.runtime.engines.native.graph.nodes import Flat, Node
from ttc.runtime.engines.native.graph.tensors import Place, PlanBuffer, View
from ttc.runtime.engines.native.planning.arena import Arena
from ttc.runtime.engines.native.planning.prepared import InPlace, Segment
from ttc.runtime.engines.native.planning.python_step import PythonStep
from ttc.runtime.engines.native.planning.steps import Step

Changed: TypeAlias = Callable[[Node], Sequence[str]]
"""Gives the names of the steps that changed what computes a node."""
_MOST_VALUES = 8
"""Elements of an attribute that are shown."""
_LETTERS = {Place.ARENA: "a", Place.CONSTANT: "c"}


class BufferNames:
    """Names for buffers, given out as they are asked for: a0, a1 in the arena, c0, c1 for constants; entries have that of the queue."""

    def __init__(self) -> None:
        self._names: dict[PlanBuffer, str] = {}
        self._counts: dict[str, int] = {}

    def __getitem__(self, buffer: PlanBuffer) -> str:
        found = self._names.get(buffer)
        if found is None:
            found = self._names[buffer] = self._new(buffer)
        return found

    def _new(self, buffer: PlanBuffer) -> str:
        if buffer.place is Place.STATUS:
            return "status"
        if buffer.queue is not None:
            return f"'{buffer.queue}'"
        letter = _LETTERS[buffer.place]
        self._counts[letter] = self._counts.get(letter, -1) + 1
        name = f"{letter}{self._counts[letter]}"
        return name if buffer.key is None else f"{name}='{buffer.key}'"


def rewrites_text(rewrites: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Yield a line for each step: how often its named rewrites happened."""
    for step, counts in rewrites.items():
        done = ", ".join(f"{name} {count:,}" for name, count in counts.items())
        yield f"  {step}{f': {done}' if done else ''}"


def node_text(node: Node) -> str:
    """Return a node on one line: `%4 = tile.matmul(%0, %1) then add(%3)`."""
    operands = ", ".join("-" if value is None else f"%{value}" for value in node.operands)
    attrs = ", ".join(f"{name}={_plain(value)}" for name, value in node.work.attrs.items() if value is not None)
    region = "" if node.region is None else " then " + ", ".join(step.fn for step in node.region.steps)
    extras = "" if not node.extras else f" of {', '.join(f'%{value}' for value in node.extras)}"
    results = ", ".join(f"%{value}" for value in node.results)
    return f"{results} = {node.work.op}({operands}){f' {{{attrs}}}' if attrs else ''}{region}{extras}"


def nodes_text(flat: Flat, wanted: Mapping[int, View], changed: Changed) -> Iterator[str]:
    """Yield lines on the queues and nodes of a graph, in order."""
    for name, value in flat.queues.items():
        yield f"  %{value} = queue '{name}' : {_type(flat.types[value])}"
    for node in flat.nodes:
        types = ", ".join(_type(flat.types[value]) for value in node.results)
        wide = " wide" if node.wide else ""
        strided = "".join(f" in place {_strided(wanted[value])}" for value in node.results if value in wanted)
        under = "".join(f" if %{value} is {str(truth).lower()}" for value, truth in node.conditions)
        yield f"  {node_text(node)} : {types}{wide}{strided}{under}{_note(node, changed)}"
    for value, queue in flat.writes:
        yield f"  queue '{queue}' = %{value}"


def steps_text(steps: Iterable[Step], names: BufferNames, changed: Changed) -> Iterator[str]:
    """Yield a line for each job and each step in Python; jobs are numbered as profiles number them."""
    number = 0
    for step in steps:
        if isinstance(step, PythonStep):
            sources = [view for view in step.sources if view is not None]
            targets = [view for view in step.targets if view is not None]
            yield f"       python {step.node.work.op}  {_moved(targets, sources, names)}{_note(step.node, changed)}"
            continue
        tasks = f"{step.tasks} task{'s' if step.tasks > 1 else ''}"
        yield f"  {number:4} {step.kernel.symbol}  {tasks}  {_moved(step.written, step.read, names)}{_note(step.node, changed)}"
        number += 1


def segments_text(segments: Sequence[Segment], names: BufferNames) -> Iterator[str]:
    """Yield a line for each run of jobs: who computes it, under which conditions, and the step in Python after it."""
    for segment in segments:
        jobs = f"jobs {segment.first} to {segment.last - 1}" if segment.last > segment.first else "no jobs"
        alone = ", one thread" if segment.alone else ""
        under = "".join(f", if {names[view.buffer]} is {str(truth).lower()}" for view, truth in segment.conditions)
        after = "" if segment.step is None else f", then {segment.step.node.work.op} in Python"
        yield f"  {jobs}{alone}{under}{after}"


def arena_text(arena: Arena, names: BufferNames) -> Iterator[str]:
    """Yield a line for each buffer of the arena, by its place."""
    for buffer, offset in sorted(arena.offsets.items(), key=lambda item: (item[1], item[0].size_bytes)):
        yield f"  {offset:>12,}  {buffer.size_bytes:>12,} bytes  {names[buffer]}"


def in_place_text(in_place: Mapping[str, InPlace]) -> Iterator[str]:
    """Yield a line for each result that a run may write into memory of the caller."""
    for queue, place in in_place.items():
        over = "".join(
            f", over '{name}'" + (f" without jobs {', '.join(map(str, jobs))}" if jobs else "") for name, jobs in place.over.items()
        )
        yield f"  '{queue}' from step {place.first} on{over}"


def _moved(targets: Sequence[View], sources: Sequence[View], names: BufferNames) -> str:
    written, read = (", ".join(dict.fromkeys(_view(view, names) for view in views)) for views in (targets, sources))
    return f"{written or '-'} <- {read or '-'}"


def _view(view: View, names: BufferNames) -> str:
    return f"{names[view.buffer]} {_strided(view)}"


def _strided(view: View) -> str:
    """The storage and shape of a view, and where its elements lie unless they fill rows from the start on."""
    strides = "" if view.is_dense else f" by {list(view.strides)}"
    return f"{view.storage}{list(view.shape)}{strides}{f' at {view.offset}' if view.offset else ''}"


def _type(type_: TensorType) -> str:
    return f"{type_.format}{list(type_.shape)}"


def _plain(value: Plain) -> str:
    if isinstance(value, tuple) and len(value) > _MOST_VALUES:
        return f"[{', '.join(map(str, value[:_MOST_VALUES]))}, ... {len(value):,} in all]"
    return str(list(value)) if isinstance(value, tuple) else str(value)


def _note(node: Node, changed: Changed) -> str:
    """Return the netlist's ops behind a node, and the steps that changed it."""
    ops = " + ".join(dict.fromkeys(each.op.name for each in (node, *node.parts)))
    by = ", ".join(changed(node))
    return f"  // {ops}{f'; {by}' if by else ''}"
