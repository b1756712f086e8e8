"""The reference engine: numpy, op by op.  Its results define what a netlist means; every other engine is compared with it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.plain.evaluate import evaluate
from ttc.dialects.core.plain.functions import Work
from ttc.dialects.core.plain.interpret import Resolver, run_unrounded, run_work
from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Graph, Host, Netlist, Op
from ttc.runtime.engines.arithmetic import flops_of
from ttc.runtime.engines.base import HELD, Timed
from ttc.runtime.engines.into import write_into
from ttc.runtime.engines.room import require_memory, require_results, result_bytes
from ttc.runtime.tensors import Constants


@record
class ReferenceEngine:
    """Runs each op's work through the interpreter of plain functions.  Threads are numpy's own, if its BLAS has any."""

    name: str = "reference"
    joins_graphs: bool = False

    def prepare(self, graph: Graph, netlist: Netlist, constants: Constants) -> ReferencePlan:
        """Prepare a graph as `plan_of` does.  Raises E0104, too, for more memory than this process can have."""
        require_results(graph, held=True)
        plan = plan_of(graph, netlist, constants)
        require_memory(plan.run_bytes, "a run")
        return plan


@record
class ReferencePlan:
    """A graph whose ops run one after the other.

    Args:
        held: constant queues and the keys of their values.
        dying: for each op, the values that nothing reads after it.
        kin: by the first of them, ops of the host that are the results of one op of dialect nn: it is computed once.
    """

    graph: Graph
    held: Mapping[str, str]
    dying: tuple[tuple[str, ...], ...]
    constants: Constants
    kin: Mapping[str, tuple[Op, ...]]

    @property
    def run_bytes(self) -> int:
        """The most bytes of results that exist at once."""
        sizes = {op.name: result_bytes(op) for op in self.graph.ops}
        most = alive = 0
        for op, dying in zip(self.graph.ops, self.dying, strict=False):
            alive += sizes[op.name]
            most = max(most, alive)
            alive -= sum(sizes.get(name, 0) for name in dying)
        return most

    def run(self, entries: Mapping[str, NDArray], into: Mapping[str, NDArray] | None = None) -> dict[str, NDArray]:
        """Compute one microbatch; see `Plan.run`."""
        found = self._run(entries, self._step)
        return write_into(found, into) if into else found

    def timed(self, entries: Mapping[str, NDArray], into: Mapping[str, NDArray] | None = None) -> tuple[dict[str, NDArray], list[Timed]]:
        """Compute one microbatch, with a job an op; see `ProfiledPlan.timed`."""
        jobs: list[Timed] = []

        def step(op: Op, inputs: Sequence[NDArray]) -> dict[str, NDArray]:
            start = time.perf_counter_ns()
            results = self._step(op, inputs)
            end = time.perf_counter_ns()
            size_bytes = sum(array.nbytes for array in (*inputs, *results.values()))
            kernel = op.work.works[-1].op if op.work.works else "nop"
            jobs.append(Timed(op.name, op.name, op.location, f"numpy {kernel}", start, end, flops_of(op.work), size_bytes))
            return results

        found = self._run(entries, step)
        return (write_into(found, into) if into else found), jobs

    def _run(self, entries: Mapping[str, NDArray], step: Callable[[Op, Sequence[NDArray]], Mapping[str, NDArray]]) -> dict[str, NDArray]:
        """Op after op.  step: what an op gives, with its kin if it is the first of them, by name."""
        values = dict(entries)
        for op, dying in zip(self.graph.ops, self.dying, strict=False):
            if op.name not in values:
                values.update(step(op, [self._value(name, values) for name in op.inputs]))
            for name in dying:
                values.pop(name, None)
        return {queue: values[op] for op, queue in self.graph.writes}

    def _step(self, op: Op, inputs: Sequence[NDArray]) -> dict[str, NDArray]:
        kin = self.kin.get(op.name)
        return {op.name: self.compute(op, inputs)} if kin is None else compute_kin(kin, inputs, self.constant)

    def compute(self, op: Op, inputs: Sequence[NDArray]) -> NDArray:
        """Return the result of one op."""
        return compute(op, inputs, self.constant)

    def constant(self, work: Work) -> NDArray:
        """Return the value of a leaf inside the work of an op."""
        value = self.constants[str(work.attrs.get("key"))]
        return value.astype(format_named(work.results[0].format).compute, copy=False)

    def _value(self, name: str, values: Mapping[str, NDArray]) -> NDArray:
        key = self.held.get(name)
        return values[name] if key is None else self.constants[key]


def compute(op: Op, inputs: Sequence[NDArray], resolve: Resolver | None) -> NDArray:
    """Return the result of an op, rounded as the op says.  resolve: gives the values of leaves, where it has any.

    Raises E0609, E0104 and what its kernels raise."""
    execute = run_unrounded if op.rounding == "none" else run_work
    return evaluate(op.work, inputs, resolve, " + ".join(op.location) or op.name, execute)[0]


def compute_kin(ops: Sequence[Op], inputs: Sequence[NDArray], resolve: Resolver | None) -> dict[str, NDArray]:
    """Return the results, by name, of ops whose works differ only in their output."""
    first = ops[0]
    whole = replace(first.work, outputs=tuple(op.work.outputs[0] for op in ops))
    execute = run_unrounded if first.rounding == "none" else run_work
    found = evaluate(whole, inputs, resolve, " + ".join(first.location) or first.name, execute)
    return {op.name: value for op, value in zip(ops, found, strict=True)}


def plan_of(graph: Graph, netlist: Netlist, constants: Constants) -> ReferencePlan:
    """Resolve names and find out when each value is needed last.  Raises E0601, E0609."""
    _check_order(graph, netlist)
    held = {n: q.key for n, q in netlist.queues.items() if q.kind in HELD and q.key is not None}
    last_use = {name: index for index, op in enumerate(graph.ops) for name in op.inputs}
    last_use |= dict.fromkeys((op for op, _ in graph.writes), len(graph.ops))
    dying: list[list[str]] = [[] for _ in range(len(graph.ops) + 1)]
    for name, index in last_use.items():
        dying[index].append(name)
    return ReferencePlan(graph, held, tuple(map(tuple, dying)), constants, _kin(graph.ops))


def _kin(ops: Sequence[Op]) -> dict[str, tuple[Op, ...]]:
    """Neighbouring ops of the host that compute the same, of which each gives another result."""
    found: list[list[Op]] = []
    for op in ops:
        several = isinstance(op.place, Host) and bool(op.work.works) and len(op.work.works[-1].results) > 1
        if several and found and _is_kin(found[-1][-1], op):
            found[-1].append(op)
        elif several:
            found.append([op])
    return {family[0].name: tuple(family) for family in found if len(family) > 1}


def _is_kin(a: Op, b: Op) -> bool:
    return a.inputs == b.inputs and a.rounding == b.rounding and (a.work.inputs, a.work.works) == (b.work.inputs, b.work.works)


def _check_order(graph: Graph, netlist: Netlist) -> None:
    """Raises E0601 for a value that is not there when it is read, E0609 for work that does not fit its op."""
    known = set(netlist.queues)
    for op in graph.ops:
        missing = [name for name in op.inputs if name not in known]
        if missing:
            raise Error("E0601", f"op '{op.name}' reads '{missing[0]}', which is neither a queue nor an op before it", graph.name)
        if len(op.work.inputs) != len(op.inputs) or len(op.work.outputs) != 1:
            raise Error("E0609", f"the work of op '{op.name}' does not take its {len(op.inputs)} inputs to one result", graph.name)
        known.add(op.name)
    for op_name, queue in graph.writes:
        if op_name not in known or queue not in netlist.queues:
            raise Error("E0601", f"graph '{graph.name}' writes '{op_name}' to '{queue}', one of which does not exist")
