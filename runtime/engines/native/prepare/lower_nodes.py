"""Turns the nodes of a graph into jobs; those that no kernel computes run in Python."""

from __future__ import annotations

from collections.abc import Sequence

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.plain.evaluate import MALFORMED
from ttc.dialects.core.plain.functions import TensorType
from ttc.runtime.engines.base import HELD
from ttc.runtime.engines.native.graph.constants import constant_view
from ttc.runtime.engines.native.graph.nodes import Node
from ttc.runtime.engines.native.graph.region import result_storage
from ttc.runtime.engines.native.graph.storage import Storage, array_dtype, needs_rounding, storage_of_dtype
from ttc.runtime.engines.native.graph.tensors import Place, PlanBuffer, View, dense
from ttc.runtime.engines.native.jobs.copies import copy, round_in_place
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lower, Lowering
from ttc.runtime.engines.native.jobs.margins import fill_margins
from ttc.runtime.engines.native.lower import lowering_of
from ttc.runtime.engines.native.planning.python_step import PythonStep
from ttc.runtime.engines.native.prepare.draft import Draft
from ttc.runtime.engines.native.prepare.fusion import ELEMENTWISE
from ttc.runtime.engines.native.prepare.literals import literal_view
from ttc.runtime.engines.native.prepare.rewriter import StepRewriter

CONVERTING = (*ELEMENTWISE, "tile.argmax", "tile.argmin", "tile.order", "tile.sfpu", "tile.binary", "tile.relu", "tile.rescale")
"""Ops whose results may be of another kind of numbers than their operands."""


def bind_queues(draft: Draft) -> None:
    """Place the entries of queues: constants in the program, those that runs are given in memory of the caller."""
    for name, value in draft.flat.queues.items():
        queue = draft.netlist.queues[name]
        held = queue.kind in HELD and queue.key is not None
        draft.views[value] = constant_view(draft.constants, str(queue.key)) if held else _bound(name, queue.tensor)


def lower_nodes(draft: Draft, rewriter: StepRewriter) -> None:
    """Turn each node into jobs, or into a step in Python, which a remark then explains."""
    unread = {value for value, _ in draft.flat.writes}.difference(value for node in draft.flat.nodes for value in node.reads)
    for node in draft.flat.nodes:
        _lower(draft, node, rewriter)
        _widen_written(draft, node, unread.intersection(node.results))


def _widen_written(draft: Draft, node: Node, unread: set[int]) -> None:
    """Results in bfloat16 that queues alone read, and that no region has widened, become entries, which are float32, in native code."""
    for value in unread:
        view = draft.views[value]
        if view is None or view.storage != "bf16" or view.buffer.place is not Place.ARENA:
            continue
        lowering = Lowering(node, draft.views, draft.flat.types, draft.cpu)
        draft.views[value] = target = lowering.temp(view.shape, "f32")
        copy(lowering, view, target)
        draft.steps.extend(lowering.jobs)


def _bound(name: str, type_: TensorType) -> View | None:
    dtype = format_named(type_.format).compute
    storage = storage_of_dtype(dtype)
    if storage is None or -1 in type_.shape:
        return None
    return dense(PlanBuffer(type_.elements * dtype.itemsize, Place.BOUND, queue=name), storage, type_.shape)


def _lower(draft: Draft, node: Node, rewriter: StepRewriter) -> None:
    literal = literal_view(node)
    if literal is not None:
        draft.views[node.results[0]] = literal
        return
    lower = lowering_of(node.work.op)
    lowering = Lowering(node, draft.views, draft.flat.types, draft.cpu, draft.wanted, draft.integers)
    try:
        _apply(lower, lowering, draft.flat.types)
    except (NotTaken, Error, *MALFORMED) as error:
        why = str(error) if isinstance(error, NotTaken) else fault(node, error)
        if node.parts:
            for part in node.parts:
                _lower(draft, part, rewriter)
            return
        draft.refusals.append((node, why))
        rewriter.missed(node, f"runs in Python: {why}")
        _in_python(draft, node)
        return
    for index, value in enumerate(node.results):
        draft.views[value] = lowering.results[index]
        fill_margins(lowering, lowering.results[index])
    draft.steps.extend(lowering.jobs)


def fault(node: Node, error: Exception) -> str:
    """Return why a node runs in Python whose lowering trusted what a malformed archive says; a fault of a lowering looks alike.

    Args:    error: what the lowering raised.  Tests replace this function by one that tells all but our errors as E0901.
    Raises:  an E0901 as it is.
    """
    del node
    if isinstance(error, Error) and error.code == "E0901":
        raise error
    return f"{type(error).__name__}: {error}"


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


def _in_python(draft: Draft, node: Node) -> None:
    """A step in Python, whose results lie in memory where their size is known."""
    targets: list[View | None] = []
    for value, type_ in zip(node.results, node.work.results, strict=True):
        storage = None if -1 in type_.shape or type_.elements == 0 else result_storage(type_, node.unrounded)
        draft.views[value] = None if storage is None else _temporary(type_, storage)
        targets.append(draft.views[value])
    sources = tuple(None if value is None else draft.views[value] for value in node.operands)
    dtypes = (None if value is None else format_named(draft.flat.types[value].format).compute for value in node.operands)
    constants = _constants(draft, node) if node.work.bodies else ()
    draft.steps.append(PythonStep(node, sources, tuple(targets), tuple(dtypes), constants))


def _constants(draft: Draft, node: Node) -> tuple[tuple[str, TensorType] | None, ...]:
    """Return keys and types of the constants that the operands of a node are; None for others."""
    held = {value: draft.netlist.queues[name] for name, value in draft.flat.queues.items()}
    queues = [None if value is None else held.get(value) for value in node.operands]
    return tuple((q.key, q.tensor) if q is not None and q.kind in HELD and q.key is not None else None for q in queues)


def _temporary(type_: TensorType, storage: Storage) -> View:
    return dense(PlanBuffer(type_.elements * array_dtype(storage).itemsize), storage, type_.shape)
