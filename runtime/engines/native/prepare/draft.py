"""A graph on its way to a plan: what the steps of the native engine work on, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ttc.dialects.netlist.model import Graph, Netlist
from ttc.runtime.engines.native.graph.nodes import Flat, Node
from ttc.runtime.engines.native.graph.ranges import IntegerFacts
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.job import Job
from ttc.runtime.engines.native.planning.arena import Arena
from ttc.runtime.engines.native.planning.in_place import StepUse
from ttc.runtime.engines.native.planning.prepared import InPlace, Segment, Written
from ttc.runtime.engines.native.planning.python_step import PythonStep
from ttc.runtime.engines.native.planning.steps import Step
from ttc.runtime.engines.native.prepare import printing
from ttc.runtime.tensors import Constants

if TYPE_CHECKING:
    from ttc.runtime.engines.native.codegen.features import Cpu


@dataclass
class Draft:
    """What is known of the plan of a graph so far.

    Args:
        flat: its nodes; those that a step joins or moves change here until they are lowered.
        views: where values lie, by number; None for those that Python holds.
        wanted: places that results would best be written to, by number.
        integers: what is known of integers that are multiplied.
        steps: jobs and steps in Python, in order, once nodes are lowered.
        refusals: nodes that run in Python, with the reason.
        first: jobs that work on constants alone, which run once.
        written, bound: how queues get their entries, and where entries lie that a run is given, by queue.
        uses: the steps with the buffers that they use, once these are ordered.
        in_place, last_reads, begin: results that may be written in place, the last step that reads each entry, both by queue, and the
            step from which on results may be written so.
        arena: places of buffers.
        segments: runs of jobs.
        rewrites: how often the named rewrites of each step happened, by the step's name, for steps that are done.
        changed_by: names of the engine's steps that changed what computes an op, by the op's name.
        refused: whether the whole graph is left to the reference engine.
    """

    graph: Graph
    netlist: Netlist
    constants: Constants
    cpu: Cpu
    flat: Flat = field(default_factory=Flat)
    views: dict[int, View | None] = field(default_factory=dict)
    wanted: Mapping[int, View] = field(default_factory=dict)
    integers: IntegerFacts | None = None
    steps: list[Step] = field(default_factory=list)
    refusals: list[tuple[Node, str]] = field(default_factory=list)
    first: list[Job] = field(default_factory=list)
    written: list[Written] = field(default_factory=list)
    bound: dict[str, View | None] = field(default_factory=dict)
    uses: list[StepUse] = field(default_factory=list)
    in_place: dict[str, InPlace] = field(default_factory=dict)
    last_reads: dict[str, int] = field(default_factory=dict)
    begin: int = 0
    arena: Arena | None = None
    segments: list[Segment] = field(default_factory=list)
    rewrites: dict[str, Mapping[str, int]] = field(default_factory=dict)
    changed_by: dict[str, dict[str, None]] = field(default_factory=dict)
    refused: bool = False

    @property
    def jobs(self) -> list[Job]:
        """The jobs of a run, in order."""
        return [step for step in self.steps if isinstance(step, Job)]

    @property
    def variables(self) -> frozenset[str]:
        """The queues whose entries stay in the same memory from run to run."""
        return frozenset(name for name in self.bound if self.netlist.queues[name].kind == "state")

    @property
    def passes_done(self) -> int:
        """The number 0: a graph is always prepared from the first step on."""
        return 0

    def changed(self, node: Node) -> tuple[str, ...]:
        """Return the names of the steps done that changed what computes a node, or one of the nodes that were joined in it."""
        found = {name for each in (node, *node.parts) for name in self.changed_by.get(each.op.name, ())}
        return tuple(name for name in self.rewrites if name in found)

    def forget_nodes(self) -> None:
        """Drop what only the steps needed; jobs, and what may be asked of them, stay."""
        self.flat, self.views, self.wanted, self.integers, self.uses = Flat(), {}, {}, None, []

    def text(self, *, locations: bool = False) -> str:
        """Return the nodes, or once they are lowered the jobs, the memory that they work in and their order, as text."""
        del locations  # the ops of the netlist, whose names lead to the sources, are always told
        names = printing.BufferNames()
        parts: dict[str, Iterable[str]] = {}
        if self.segments:
            parts["steps"] = printing.rewrites_text(self.rewrites)
        if not self.steps:
            parts["nodes"] = printing.nodes_text(self.flat, self.wanted, self.changed)
        else:
            parts["jobs on constants, once"] = printing.steps_text(self.first, names, self.changed)
            parts["jobs"] = printing.steps_text(self.steps, names, self.changed)
            parts["order"] = printing.segments_text(self.segments, names)
            parts["results that may be written in place"] = printing.in_place_text(self.in_place)
        if self.arena is not None:
            parts[f"arena of {self.arena.size_bytes:,} bytes: offset, size, buffer"] = printing.arena_text(self.arena, names)
        reasons = [f"  {node.work.op}: {reason}  // {node.op.name}" for node, reason in self.refusals]
        parts["left to Python"] = reasons
        shown = ((title, list(lines)) for title, lines in parts.items())
        bodies = [body.text() for step in self.steps if isinstance(step, PythonStep) for body in step.bodies]
        return "\n".join([f"graph '{self.graph.name}'", *("\n".join([f"{title}:", *lines]) for title, lines in shown if lines), *bodies])

    def op_count(self) -> int:
        """Return how many nodes there are, or jobs and steps in Python once nodes are lowered."""
        return len(self.steps) or len(self.flat.nodes)
