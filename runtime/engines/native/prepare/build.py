"""From a graph to what is kept of its plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ttc.dialects.core.watching import StepInstrument
from ttc.dialects.netlist.model import Graph, Netlist
from ttc.runtime.engines.native.graph.tensors import Place
from ttc.runtime.engines.native.planning.prepared import ConstantJobs, Layout, Prepared
from ttc.runtime.engines.native.planning.steps import buffers_of
from ttc.runtime.engines.native.planning.template import template_of
from ttc.runtime.engines.native.prepare.draft import Draft
from ttc.runtime.engines.native.prepare.narrowed import narrowed_queues
from ttc.runtime.engines.native.prepare.steps import LOWERING, PLACING, STAGE, run_steps
from ttc.runtime.tensors import Constants

if TYPE_CHECKING:
    from ttc.runtime.engines.native.codegen.features import Cpu


def lower_graph(graph: Graph, netlist: Netlist, constants: Constants, cpu: Cpu, instruments: Sequence[StepInstrument] = ()) -> Draft:
    """Return the draft of a graph with its jobs; none if an op lies about the shapes of its results.  Raises E0601, E0609, E0901."""
    draft = Draft(graph, netlist, constants, cpu)
    run_steps(LOWERING, draft, instruments)
    return draft


def prepared_of(draft: Draft, threads: int, instruments: Sequence[StepInstrument] = ()) -> Prepared | None:
    """Return what is kept of a graph that was lowered, whose jobs the draft then has in order; None if no op has a kernel."""
    run_steps(PLACING, draft, instruments)
    for instrument in instruments:
        instrument.on_stage(STAGE, draft)
    if draft.refused or draft.arena is None:
        return None
    values = {queue: value for queue, value in draft.flat.queues.items() if queue in draft.bound}
    layout = Layout(
        draft.segments,
        draft.bound,
        draft.written,
        draft.arena,
        values,
        draft.variables,
        draft.in_place,
        draft.last_reads,
        narrowed_queues(draft),
    )
    return Prepared(layout, template_of(draft.jobs, threads), _packing(draft, threads))


def _packing(draft: Draft, threads: int) -> ConstantJobs:
    """Return the jobs that pack constants."""
    kept = {buffer for step in draft.steps for buffers in buffers_of(step) for buffer in buffers}
    kept |= {written.view.buffer for written in draft.written if written.view is not None}
    reads, writes = zip(*(buffers_of(job) for job in draft.first), strict=True) if draft.first else ((), ())
    return ConstantJobs(
        template_of(draft.first, threads),
        tuple(tuple(dict.fromkeys(buffers)) for buffers in reads),
        tuple(tuple(dict.fromkeys(buffers)) for buffers in writes),
        frozenset(buffer for buffer in kept if buffer.place is Place.CONSTANT),
    )
