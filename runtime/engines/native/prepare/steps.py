"""The steps that make a plan of a graph, by name and in order, and what runs them under the eyes of instruments."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from ttc.dialects.core.errors import Error
from ttc.dialects.core.watching import StepInstrument
from ttc.runtime.engines.native.graph.nodes import flatten
from ttc.runtime.engines.native.prepare.bodies import is_planned
from ttc.runtime.engines.native.prepare.choices import note_conditions
from ttc.runtime.engines.native.prepare.draft import Draft
from ttc.runtime.engines.native.prepare.fusion import fuse_regions
from ttc.runtime.engines.native.prepare.integers import integers_of
from ttc.runtime.engines.native.prepare.joined_passes import join_passes
from ttc.runtime.engines.native.prepare.keep_wide import keep_wide
from ttc.runtime.engines.native.prepare.lay_out import cut_segments, place_buffers, write_in_place
from ttc.runtime.engines.native.prepare.lower_nodes import bind_queues, lower_nodes
from ttc.runtime.engines.native.prepare.packed_inside import with_packing_inside
from ttc.runtime.engines.native.prepare.parts_inside import with_parts_inside
from ttc.runtime.engines.native.prepare.reshapes import sink_reshapes
from ttc.runtime.engines.native.prepare.rewriter import StepRewriter
from ttc.runtime.engines.native.prepare.shape_rules import is_sound
from ttc.runtime.engines.native.prepare.shared_constants import share_constants
from ttc.runtime.engines.native.prepare.shared_copies import share_copies
from ttc.runtime.engines.native.prepare.split_constant import split_constant
from ttc.runtime.engines.native.prepare.wanted import wanted_layouts

STAGE = "native"
"""The name of the stage that instruments are told when the last step of a graph is done."""


class PlanStep(ABC):
    """One step from a graph to a plan; a subclass says in its docstring what it does."""

    name: ClassVar[str]

    @abstractmethod
    def apply(self, draft: Draft, rewriter: StepRewriter) -> None:
        """Change the draft in place, asking the rewriter before each named rewrite."""


class Flatten(PlanStep):
    """Make the graph one list of nodes over numbered values; equal works on equal operands are one, but for what is recomputed."""

    name = "flatten"

    def apply(self, draft: Draft, rewriter: StepRewriter) -> None:
        del rewriter
        draft.flat = flatten(draft.graph, draft.netlist)


class CheckShapes(PlanStep):
    """Leave a graph to the reference engine if an op lies about the shapes of its results."""

    name = "check-shapes"

    def apply(self, draft: Draft, rewriter: StepRewriter) -> None:
        flat = draft.flat
        for node in flat.nodes:
            if not is_sound(node.work, [None if i is None else flat.types[i] for i in node.operands]):
                draft.refused = True
                draft.refusals.append((node, "results of other shapes than it says"))
                rewriter.missed(node, "the reference engine runs the graph: results of other shapes than it says")


class KeepWide(PlanStep):
    """Keep values in bfloat16 in float32, on a CPU that multiplies no narrower."""

    name = "keep-wide"

    def apply(self, draft: Draft, rewriter: StepRewriter) -> None:
        keep_wide(draft.flat, draft.cpu, rewriter.allow)


class SinkReshapes(PlanStep):
    """Move reshapes behind the elementwise nodes that read them."""

    name = "sink-reshapes"

    def apply(self, draft: Draft, rewriter: StepRewriter) -> None:
        sink_reshapes(draft.flat, rewriter.allow)


class NoteChoices(PlanStep):
    """Give nodes that matter for one outcome of a choice alone the condition under which they run."""

    name = "note-choices"

    def apply(self, draft: Draft, rewriter: StepRewriter) -> None:
        note_conditions(draft.flat, rewriter.allow)


class FuseRegions(PlanStep):
    """Join elementwise nodes to the op that makes one of their operands."""

    name = "fuse-regions"

    def apply(self, draft: Draft, rewriter: StepRewriter) -> None:
        fuse_regions(draft.flat, rewriter.allow)


class ChooseLayouts(PlanStep):
    """Give results that are joined or reordered next the place where they end up."""

    name = "choose-layouts"

    def apply(self, draft: Draft, rewriter: StepRewriter) -> None:
        draft.wanted = wanted_layouts(draft.flat, draft.cpu, rewriter.allow)


class FindRanges(PlanStep):
    """Give queues their places, and integers that products multiply their ranges."""

    name = "find-ranges"

    def apply(self, draft: Draft, rewriter: StepRewriter) -> None:
        bind_queues(draft)
        draft.integers = integers_of(draft.flat, draft.views, rewriter.allow, in_bytes=draft.cpu.has_byte_tiles)


class Lower(PlanStep):
    """Turn nodes into jobs; without any job, and any region to plan, the graph is left to the reference engine."""

    name = "lower"

    def apply(self, draft: Draft, rewriter: StepRewriter) -> None:
        lower_nodes(draft, rewriter)
        draft.refused = not draft.jobs and not any(is_planned(node.work) for node in draft.flat.nodes)


class SplitConstant(PlanStep):
    """Run jobs that work on constants alone once, when the program is loaded."""

    name = "split-constant"

    def apply(self, draft: Draft, rewriter: StepRewriter) -> None:
        draft.first, draft.steps = split_constant(draft.steps, rewriter.allow)


class ShareConstant(PlanStep):
    """Make jobs on constants that make the same one: weights that several products read are packed once."""

    name = "share-constant"

    def apply(self, draft: Draft, rewriter: StepRewriter) -> None:
        named = {view.buffer for view in draft.views.values() if view is not None}
        draft.first, draft.steps = share_constants(draft.first, draft.steps, named, rewriter.allow)


class ShareCopies(PlanStep):
    """Make copies in another order only once for steps soon after each other: of a gradient, for all that an update changes."""

    name = "share-copies"

    def apply(self, draft: Draft, rewriter: StepRewriter) -> None:
        named = {view.buffer for view in draft.views.values() if view is not None}
        draft.steps = share_copies(draft.steps, named, rewriter.allow)


class PackInside(PlanStep):
    """Let products pack a large right operand themselves if nothing else reads it."""

    name = "pack-inside"

    def apply(self, draft: Draft, rewriter: StepRewriter) -> None:
        draft.steps = with_packing_inside(draft.steps, rewriter.allow)


class PartsInside(PlanStep):
    """Let normalizations write their rows in parts, where products in tiles read them so."""

    name = "parts-inside"

    def apply(self, draft: Draft, rewriter: StepRewriter) -> None:
        draft.steps = with_parts_inside(draft.steps, rewriter.allow)


class WriteInPlace(PlanStep):
    """Order steps so that they need less memory, and results can be written over the entries that they replace."""

    name = "write-in-place"

    def apply(self, draft: Draft, rewriter: StepRewriter) -> None:
        write_in_place(draft, rewriter.allow)


class JoinPasses(PlanStep):
    """Make elementwise jobs over the same elements that follow each other one, which goes over memory once: an update of a parameter."""

    name = "join-passes"

    def apply(self, draft: Draft, rewriter: StepRewriter) -> None:
        join_passes(draft, rewriter.allow)


class PlaceBuffers(PlanStep):
    """Give each buffer of the arena a place that no other has while it is needed."""

    name = "place-buffers"

    def apply(self, draft: Draft, rewriter: StepRewriter) -> None:
        del rewriter
        place_buffers(draft)


class CutSegments(PlanStep):
    """Join neighbouring jobs to runs of native code, which one thread computes alone where they are small."""

    name = "cut-segments"

    def apply(self, draft: Draft, rewriter: StepRewriter) -> None:
        del rewriter
        cut_segments(draft)


LOWERING: tuple[PlanStep, ...] = (
    Flatten(),
    CheckShapes(),
    KeepWide(),
    SinkReshapes(),
    NoteChoices(),
    FuseRegions(),
    ChooseLayouts(),
    FindRanges(),
    Lower(),
)
"""The steps from a graph to jobs, in order."""
PLACING: tuple[PlanStep, ...] = (
    SplitConstant(),
    ShareConstant(),
    ShareCopies(),
    PackInside(),
    PartsInside(),
    WriteInPlace(),
    JoinPasses(),
    PlaceBuffers(),
    CutSegments(),
)
"""The steps from jobs to their order and memory, in order."""
STEP_NAMES = tuple(step.name for step in (*LOWERING, *PLACING))


def run_steps(steps: Sequence[PlanStep], draft: Draft, instruments: Sequence[StepInstrument] = ()) -> None:
    """Run steps in order, until one leaves the graph to the reference engine.

    Raises: what a step does, an error of ours as E0901; each tells the step and the graph.
    """
    seen = draft.text() if any(instrument.compares for instrument in instruments) else None
    for step in steps:
        if draft.refused:
            return
        rewriter = StepRewriter(step.name, draft, instruments)
        for instrument in instruments:
            instrument.before(step, draft)
        start = time.perf_counter()
        try:
            step.apply(draft, rewriter)
        except Exception as error:
            for instrument in instruments:
                instrument.failed(step, draft, error)
            raise _in_context(error, step, draft) from error
        rewriter.report.seconds = time.perf_counter() - start
        draft.rewrites[step.name] = rewriter.report.rewrites
        if seen is not None:
            before, seen = seen, draft.text()
            rewriter.report.changed = seen != before
        for instrument in instruments:
            instrument.after(step, draft, rewriter.report)


def _in_context(error: Exception, step: PlanStep, draft: Draft) -> Exception:
    """The error with what was being done; memory that does not suffice stays what it is, as the reference engine may do with less."""
    if isinstance(error, MemoryError | OverflowError):
        return error
    found = error if isinstance(error, Error) else Error("E0901", f"internal error: {type(error).__name__}: {error}")
    if found.context is None:
        found.context = f"step {step.name} of the native engine (graph '{draft.graph.name}')"
    return found
