"""Whether an engine computes what the reference engine does: op by op, so that a wrong kernel is told from a wrong pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ttc.accuracy.distances import Comparison, Exactness, compare
from ttc.comparison.widened import WIDE, wide, wide_constants
from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Graph, Netlist, Op, Queue
from ttc.runtime.engines.base import Engine, Plan, ProfiledPlan, bound_queues
from ttc.runtime.engines.into import write_into
from ttc.runtime.engines.reference import ReferenceEngine, ReferencePlan
from ttc.runtime.netlists import Netlists
from ttc.runtime.program import Plans, Program
from ttc.runtime.tensors import Constants

SPREAD = 4.0
"""How many times as far from Float64 as the reference an engine may be, where rounding decides."""


@record
class Finding:
    """How an engine's results of some ops that it computes together compare with the reference's, from the same inputs.

    Args:
        graph: that they are of.
        ops: in order; the figures are those of what the last of them gives, or of what a whole graph writes.
        location: source names of the last.
        kernel: what computed it where it is out of bound, as far as the engine says.
        figures: against the reference.
        shared: whether it leaves them to the reference engine, having no kernel.
        unsteady: whether rounding alone makes the reference as wrong, against Float64: what little differs before is much here.
    """

    graph: str
    ops: tuple[str, ...]
    location: tuple[str, ...]
    kernel: str
    figures: Comparison
    shared: bool = False
    unsteady: bool = False

    @property
    def within(self) -> bool:
        return self.figures.within or self.unsteady


@record(frozen=False)
class Agreement:
    """The findings on two engines' results, which grow as the program runs.

    Attributes:
        ops: each op alone, in order.
        graphs: each graph as a whole, of all that it writes the value that is farthest off.
        together: where no op is wrong alone, but a graph is: the shortest run of ops found that is wrong together.
    """

    ops: list[Finding] = field(default_factory=list)
    graphs: list[Finding] = field(default_factory=list)
    together: list[Finding] = field(default_factory=list)

    @property
    def wrong(self) -> list[Finding]:
        """The findings that are out of bound, ops before runs of ops."""
        return [finding for finding in (*self.ops, *self.together) if not finding.within]

    @property
    def within(self) -> bool:
        return not self.wrong and all(graph.within for graph in self.graphs)


@record
class ComparedEngine:
    """The reference engine, which compares another one with itself as it goes.

    Each graph is computed by both as a whole in every microbatch, and op by op in the first; and op by op again in one where the wholes
    differ.
    """

    other: Engine
    found: Agreement
    reference: Engine = field(default_factory=ReferenceEngine)
    name: str = "both"
    joins_graphs: bool = False

    def prepare(self, graph: Graph, netlist: Netlist, constants: Constants) -> ComparedPlan:
        """Return a plan that runs both engines over a graph; see `Engine.prepare`."""
        return ComparedPlan(graph, netlist, constants, self)


def compared_program(program: Program, engine: Engine) -> tuple[Program, Agreement]:
    """Return the program on the reference engine, compared with another engine as it runs; and what that finds."""
    found = Agreement()
    netlists = Netlists(lambda: program.netlist, program.description, joins=engine.joins_graphs)
    plans = Plans(ComparedEngine(engine, found), netlists, program.constants)
    return replace(program, netlists=netlists, plans=plans), found


@record(frozen=False)
class ComparedPlan:
    """A graph on both engines."""

    graph: Graph
    netlist: Netlist
    constants: Constants
    engines: ComparedEngine
    runs: int = 0

    @cached_property
    def whole(self) -> Plan:
        """Prepare the whole graph on the other engine."""
        return self.engines.other.prepare(self.graph, self.netlist, self.constants)

    @cached_property
    def exact(self) -> Plan:
        """Prepare the whole graph in Float64."""
        return self.engines.reference.prepare(wide(self.graph), wide(self.netlist), wide_constants(self.constants))

    def run(self, entries: Mapping[str, NDArray], into: Mapping[str, NDArray] | None = None) -> dict[str, NDArray]:
        """Compute one microbatch on both engines; gives what the reference does. See `Plan.run`."""
        self.runs += 1
        values = dict(entries)
        if self.runs == 1:
            self._by_op(values)
        else:
            expected = self.engines.reference.prepare(self.graph, self.netlist, self.constants).run(entries)
            values |= {op: expected[queue] for op, queue in self.graph.writes}
        if not self._whole_agrees(entries, values):
            self._search(entries)
        return write_into({queue: values[op] for op, queue in self.graph.writes}, into or {})

    def _whole_agrees(self, entries: Mapping[str, NDArray], values: Mapping[str, NDArray]) -> bool:
        """Compare the graph as a whole; the worst so far is kept."""
        written = self.whole.run(entries)
        found = [self.finding(self.graph.ops, op, self.whole, entries, written[queue], values[op]) for op, queue in self.graph.writes]
        if not all(finding.within for finding in found):
            found = self._judged(found, entries, written, values)
        known = self.engines.found.graphs
        so_far = [finding for finding in known if finding.graph == self.graph.name]
        known[:] = [finding for finding in known if finding.graph != self.graph.name]
        known += sorted((*so_far, *found), key=lambda finding: finding.figures.of_bound)[-1:]
        return all(finding.within for finding in found)

    def _judged(
        self, found: Sequence[Finding], entries: Mapping[str, NDArray], written: Mapping[str, NDArray], values: Mapping[str, NDArray]
    ) -> list[Finding]:
        """Return the findings of what the graph writes; those that are out of bound because rounding is, are told.

        As in an optimizer that divides gradients which should be 0 by their size: rounding decides the signs of the results.
        """
        exact = self.exact.run({name: x.astype(WIDE) if x.dtype.kind == "f" else x for name, x in entries.items()})
        judged: list[Finding] = []
        for finding, (op, queue) in zip(found, self.graph.writes, strict=True):
            true = exact[queue].astype(WIDE)
            mine, theirs = (np.abs(x.reshape(true.shape).astype(WIDE) - true) for x in (written[queue], values[op]))
            spread = SPREAD * float(theirs.max(initial=0.0))
            unsteady = not finding.within and bool(mine.max(initial=0.0) <= spread)
            judged.append(replace(finding, unsteady=unsteady))
        return judged

    def _by_op(self, values: dict[str, NDArray], *, compared: bool = True, keep: bool = False) -> None:
        """Compute op after op into values.  compared: on both engines; keep: also what nothing reads any more."""
        last = {name: number for number, op in enumerate(self.graph.ops) for name in op.inputs}
        last |= {op: len(self.graph.ops) for op, _ in self.graph.writes}
        for number, op in enumerate(self.graph.ops):
            part = _Part(self, (op,))
            values[op.name] = part.on(self.engines.reference, values)
            if compared:
                self.engines.found.ops.append(part.finding(values))
            dying = [] if keep else [name for name in op.inputs if last[name] == number]
            for name in dying:
                values.pop(name, None)

    def _search(self, entries: Mapping[str, NDArray]) -> None:
        """Find ops that are wrong together, unless one that is wrong alone is known."""
        known = self.engines.found
        if any(not finding.within and finding.graph == self.graph.name for finding in (*known.ops, *known.together)):
            return
        values = dict(entries)
        self._by_op(values, compared=self.runs > 1, keep=True)
        if any(not finding.within and finding.graph == self.graph.name for finding in known.ops):
            return
        count = len(self.graph.ops)
        end = _first(range(1, count + 1), lambda end: self._wrong(0, end, values) is not None)
        begin = _first(range(end - 1, -1, -1), lambda begin: self._wrong(begin, end, values) is not None)
        finding = self._wrong(begin, end, values)
        if finding is not None:
            known.together.append(finding)

    def _wrong(self, begin: int, end: int, values: Mapping[str, NDArray]) -> Finding | None:
        """The first result of ops [begin, end) that none of these reads, or that is written, if it is out of bound."""
        ops = self.graph.ops[begin:end]
        read = {name for op in ops for name in op.inputs} - {op for op, _ in self.graph.writes}
        for op in ops:
            if op.name not in read:
                finding = _Part(self, _needed(ops, op.name)).finding(values)
                if not finding.within:
                    return finding
        return None

    def finding(
        self, ops: Sequence[Op], last: str, plan: Plan, entries: Mapping[str, NDArray], value: NDArray, expected: NDArray
    ) -> Finding:
        """Return a value of an op that a plan of some ops gives, compared with the expected one."""
        op = next(op for op in ops if op.name == last)
        figures = compare(value.reshape(expected.shape), expected, _exactness(ops))
        kernel = "" if figures.within else _kernel(plan, last, entries)
        shared = isinstance(plan, ReferencePlan)
        return Finding(self.graph.name, tuple(op.name for op in ops), op.location, kernel, figures, shared)


@record
class _Part:
    """Some ops of a graph as a graph of their own, which gives the value of the last."""

    whole: ComparedPlan
    ops: tuple[Op, ...]

    @cached_property
    def graph(self) -> Graph:
        return replace(self.whole.graph, ops=self.ops, writes=((self.ops[-1].name, self.output),), epoch=None)

    @property
    def output(self) -> str:
        return f"{self.ops[-1].name}>"

    @cached_property
    def netlist(self) -> Netlist:
        """With a queue for each value that comes from ops outside, and one for the result."""
        given = self.whole.netlist.queues
        inside = {op.name for op in self.ops}
        made = {name: type_ for op in self.ops for name, type_ in zip(op.inputs, op.work.inputs, strict=True) if name not in given}
        made = {name: type_ for name, type_ in made.items() if name not in inside} | {self.output: _result(self.ops[-1])}
        return replace(self.whole.netlist, queues={**given, **{name: _queue(name, type_) for name, type_ in made.items()}})

    def entries(self, values: Mapping[str, NDArray]) -> dict[str, NDArray]:
        return {name: values[name] for name in bound_queues(self.graph, self.netlist)}

    def on(self, engine: Engine, values: Mapping[str, NDArray]) -> NDArray:
        """Return the value on an engine."""
        plan = engine.prepare(self.graph, self.netlist, self.whole.constants)
        return plan.run(self.entries(values))[self.output]

    def finding(self, values: Mapping[str, NDArray]) -> Finding:
        """Return the value on the other engine, compared with that of the reference among the values."""
        plan = self.whole.engines.other.prepare(self.graph, self.netlist, self.whole.constants)
        entries, last = self.entries(values), self.ops[-1].name
        return self.whole.finding(self.ops, last, plan, entries, plan.run(entries)[self.output], values[last])


def _first(numbers: Sequence[int], holds: Callable[[int], bool]) -> int:
    """Return the first of the numbers from which on it holds, if it holds from one on; by halving."""
    low, high = 0, len(numbers) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(numbers[middle]) else (middle + 1, high)
    return numbers[low]


def _needed(ops: Sequence[Op], name: str) -> tuple[Op, ...]:
    """Return the ops that the value of one of them needs, that one included."""
    wanted = {name}
    found: list[Op] = []
    for op in reversed(ops):
        if op.name in wanted:
            found.append(op)
            wanted.update(op.inputs)
    return tuple(reversed(found))


def _result(op: Op) -> TensorType:
    return op.work.value_types[op.work.outputs[0]]


def _queue(name: str, type_: TensorType) -> Queue:
    """Return a queue between two graphs of which only the type counts."""
    return Queue(name, "edge", "queue", "", type_, 1, "host", 0, (1, 1), None, ((0, 0),), 0)


def _exactness(ops: Iterable[Op]) -> Exactness:
    """Return the exactness of the least exact op."""
    return max(max(Exactness.of_precision(op.precision), Exactness.of_format(_result(op).format)) for op in ops)


def _kernel(plan: Plan, op: str, entries: Mapping[str, NDArray]) -> str:
    """Return what computes an op, as the plan says; of several jobs the one that takes longest."""
    jobs = [timed for timed in plan.timed(entries)[1] if timed.op == op] if isinstance(plan, ProfiledPlan) else []
    return max(jobs, key=lambda timed: timed.end_ns - timed.start_ns).kernel if jobs else ""
