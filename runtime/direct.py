"""Runs entry programs that consist of one graph without queues: inputs go to the plan as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.batch_axis import OUTERMOST
from ttc.dialects.core.formats import Format, format_named
from ttc.dialects.core.formats.text import STRING
from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Argument, Program
from ttc.runtime.arguments import entries_of, from_entries, inputs_of, outputs_of, to_entry
from ttc.runtime.engines.base import Plan, Port, ShortPlan, ShortRun, ShortSpec
from ttc.runtime.engines.result_memory import has_own_memory
from ttc.runtime.machine.surface import Channel, Surface

_NOTHING = frozenset[str]()


@record
class DirectInput:
    """An input that is one entry of a queue, or as many as there are microbatches.

    Args:
        entry: type of that.
        dtype: of arrays that are entries as they are; None if the queue's format has none, or the shapes differ.
    """

    argument: Argument
    entry: TensorType
    dtype: np.dtype | None

    def value(self, given: object, *, narrowed: bool = False) -> NDArray:
        """Return a user's value as an entry.  narrowed: whether the plan rounds it by itself.  Raises E0801, E0802."""
        dtype = np.dtype(np.float32) if narrowed and self.is_rounded else self.dtype
        return given if self._is_entry(given, dtype) else to_entry(self.argument, self.entry, given)

    def parts(self, given: object, count: int) -> NDArray:
        """Return a user's value as so many entries.  Raises E0801, E0802."""
        whole = replace(self.entry, shape=self.argument.shape)
        array = given if self._is_entry(given, self.dtype) else to_entry(self.argument, whole, given)
        if self.argument.batch != OUTERMOST:
            array = np.stack(self.argument.batch.parts(array, count))
        return array.reshape(count, *self.entry.shape)

    def _is_entry(self, value: object, dtype: np.dtype | None) -> TypeGuard[NDArray]:
        if dtype is None or type(value) is not np.ndarray:  # a dtype of None would equal float64
            return False
        flags = value.flags
        return value.dtype == dtype and value.shape == self.argument.shape and flags.c_contiguous and flags.aligned

    @property
    def port(self) -> Port | None:
        """The input's name and queue, if a user's array is the queue's entry as it is or once it is rounded, or text."""
        if self.argument.dtype == STRING and tuple(self.argument.shape) == tuple(self.entry.shape):
            return self.argument.name, self.argument.queue, STRING, tuple(self.argument.shape)
        dtype = np.dtype(np.float32) if self.is_rounded else self.dtype
        return None if dtype is None else (self.argument.name, self.argument.queue, dtype, tuple(self.argument.shape))

    @property
    def is_rounded(self) -> bool:
        """Return whether the queue's entry is a user's array of Float32 once it is rounded to a narrower format."""
        format_ = format_named(self.entry.format)
        computed = format_.is_float and format_.compute == np.float32 == np.dtype(self.argument.dtype)
        return self.dtype is None and computed and tuple(self.argument.shape) == tuple(self.entry.shape)


@record
class DirectEntry:
    """How a program without queues runs: its plan, and what becomes of its inputs and results.

    Args:
        graph: that it executes.
        inputs, outputs: arguments with their queues, in order.
        count: microbatches of a run.
        states: queues that show states, with the keys of these.
        updates: results that are new values of states or parameters.
    """

    graph: str
    inputs: Sequence[DirectInput]
    outputs: Sequence[Argument]
    count: int = 1
    states: tuple[tuple[str, str], ...] = ()
    updates: tuple[Argument, ...] = ()

    def run(self, plan: Plan, given: Mapping[str, object]) -> dict[str, NDArray]:
        """Return the results of a program without states on a user's arrays.  Raises E0801, E0802."""
        if self.count == 1:
            entries = self.entries(given, plan)
            return self.results(plan.run(entries), entries)
        parts = {item.argument.queue: item.parts(given[item.argument.name], self.count) for item in self.inputs}
        written = [plan.run({queue: part[number] for queue, part in parts.items()}) for number in range(self.count)]
        return {result.name: from_entries(result, [entries[result.queue] for entries in written]) for result in self.outputs}

    def short(self, plan: Plan, fixed: Mapping[str, NDArray] | None = None, into: Mapping[str, NDArray] | None = None) -> ShortRun | None:
        """Return a run of a plan as one prepared call; see `ShortPlan.short`. None where the plan has none, or arrays must be converted."""
        inputs = tuple(port for item in self.inputs if (port := item.port) is not None)
        if self.count > 1 or len(inputs) < len(self.inputs) or not isinstance(plan, ShortPlan):
            return None
        results = tuple((r.name, r.queue, np.dtype(r.dtype), tuple(r.shape)) for r in self.outputs)
        narrowed = _narrowed(plan)
        wide = [item for item in self.inputs if item.is_rounded and item.argument.queue not in narrowed]
        rounded = {item.argument.name: partial(_rounded, format_named(item.entry.format)) for item in wide}
        return plan.short(ShortSpec(inputs, results, fixed or {}, into or {}, rounded))

    def entries(self, given: Mapping[str, object], plan: Plan) -> dict[str, NDArray]:
        """Return the user's arrays as entries of a plan, by queue.  Raises E0801, E0802."""
        narrowed, inputs = _narrowed(plan), [(item, item.argument) for item in self.inputs]
        return {argument.queue: item.value(given[argument.name], narrowed=argument.queue in narrowed) for item, argument in inputs}

    def results(self, written: Mapping[str, NDArray], entries: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """Return what the graph wrote as the user's arrays: the graph's own where nobody else has them, else copies."""
        taken = {id(entry) for entry in entries.values()}
        found: dict[str, NDArray] = {}
        for result in self.outputs:
            value = written[result.queue]
            own = has_own_memory(value) and id(value) not in taken and value.flags.carray
            if own and value.dtype == result.dtype and value.shape == result.shape:
                taken.add(id(value))
                found[result.name] = value
            else:
                found[result.name] = from_entries(result, [value])
        return found


def direct_entry(program: Program, surface: Surface) -> DirectEntry | None:
    """Return how to run a program without queues; None where it needs them: several graphs, or states with several microbatches."""
    if len(program.instructions) != 1 or program.instructions[0].opcode != "execute":
        return None
    graph, queues = surface.graphs[str(program.instructions[0].args[0])], surface.queues
    inputs, outputs = inputs_of(program), outputs_of(program)
    states = tuple((name, str(queues[name].key)) for name in graph.reads if queues[name].kind == "state")
    updates = tuple(result for result in program.results if result.updates is not None)
    given, written = {argument.queue for argument in inputs}, graph.writes
    simple = (
        not any(queues[name].kind == "state" for name in written)
        and given.issuperset(name for name in graph.reads if queues[name].kind != "state")
        and len(set(written)) == len(written)
        and all(result.queue in written for result in program.results)
        and all(_has_entries(item, queues[item.queue], graph.input_count) for item in (*inputs, *outputs))
        and not any(queues[name].shown for name in (*given, *written))
        and not any(item.replicas for item in (*inputs, *outputs))
        and (graph.input_count == 1 or not (states or updates))
    )
    if not simple:
        return None
    entries = [direct_input(argument, queues[argument.queue].tensor, graph.input_count) for argument in inputs]
    return DirectEntry(graph.name, entries, outputs, graph.input_count, states, updates)


def _has_entries(argument: Argument, queue: Channel, count: int) -> bool:
    """Return whether so many entries that the queue has room for make up a user's array."""
    if count == 1:
        return argument.kind == "output" or entries_of(argument, queue) == 1
    static = -1 not in (*argument.shape, *queue.tensor.shape)
    whole = prod(argument.shape) == count * prod(queue.tensor.shape)
    return static and whole and argument.streamed and queue.type == "queue" and count <= queue.entries


def direct_input(argument: Argument, entry: TensorType, count: int) -> DirectInput:
    """Return an input that is so many entries of that type."""
    dtype = np.dtype(argument.dtype)
    format_ = format_named(entry.format)
    same = format_.storage == format_.compute == dtype and dtype.kind in "fiub"
    return DirectInput(argument, entry, dtype if same and (count > 1 or argument.shape == entry.shape) else None)


def _narrowed(plan: Plan) -> frozenset[str]:
    """Return the queues whose entries a plan rounds by itself, as a `NarrowingPlan` says; isinstance of a protocol would take 18 µs."""
    return getattr(plan, "narrowed", _NOTHING)


def _rounded(format_: Format, value: NDArray) -> NDArray:
    with np.errstate(over="ignore"):  # what a narrower float cannot hold is infinite
        return format_.round(value)
