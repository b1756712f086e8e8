"""Entry programs that are one graph on one microbatch, with states: they need no queues, and write new values in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from math import prod

from numpy.typing import NDArray

from ttc.dialects.core.records import record
from ttc.runtime.direct import DirectEntry
from ttc.runtime.engines.base import Plan, ShortRun
from ttc.runtime.machine.surface import Surface
from ttc.runtime.machine.values import InitialValues
from ttc.runtime.machine.variables import Variable


@record(eq=False)
class _OnVariables:
    """A prepared call that holds the memory of variables; see `ShortRun`.

    Args:
        held: the variables, each with its memory.
    """

    prepared: ShortRun
    held: Sequence[tuple[Variable, NDArray]]

    def __call__(self, given: Mapping[str, object], /) -> dict[str, NDArray] | None:
        return self.prepared(given) if self._are_held() else None

    def at(self, inputs: Sequence[int], results: Sequence[int], /) -> bool:
        return self._are_held() and self.prepared.at(inputs, results)

    def _are_held(self) -> bool:
        """Return whether all variables were written in place, and none was assigned."""
        for variable, memory in self.held:
            if variable.value is not memory:
                return False
        return True


@record(eq=False)
class StatefulEntry:
    """How a program of one graph with states runs: its plan, and what becomes of its inputs and results.

    Args:
        direct: its inputs and outputs.
        reads: queues that show variables.
        updates: queues whose entries are new values of variables, with the shape of an entry; they are written in place, as plans that
            fail change no memory that they are given.
    """

    direct: DirectEntry
    reads: tuple[tuple[str, Variable], ...]
    updates: tuple[tuple[str, Variable, tuple[int, ...]], ...]
    _views: dict[str, tuple[NDArray, NDArray]] = field(default_factory=dict)

    def run(self, plan: Plan, given: Mapping[str, object]) -> dict[str, NDArray]:
        """Return the results on a user's arrays; variables get new values. Raises as `Plan.run` does, and then nothing has changed."""
        entries = self.direct.entries(given, plan)
        for queue, variable in self.reads:
            entries[queue] = variable.value
        return self.direct.results(plan.run(entries, self._into()), entries)

    def short(self, plan: Plan) -> ShortRun | None:
        """Return `run` as one prepared call, if there is one; for one run at a time."""
        held = tuple({id(v): (v, v.value) for v in (*(v for _, v in self.reads), *(v for _, v, _ in self.updates))}.values())
        prepared = self.direct.short(plan, {queue: variable.value for queue, variable in self.reads}, self._into())
        return None if prepared is None else _OnVariables(prepared, held)

    def _into(self) -> dict[str, NDArray]:
        return {queue: self._shown(queue, variable.value, shape) for queue, variable, shape in self.updates}

    def _shown(self, queue: str, memory: NDArray, shape: tuple[int, ...]) -> NDArray:
        """A variable's memory in the shape of an entry: the same array from run to run, as plans remember the array, not the address."""
        if memory.shape == shape:
            return memory
        known = self._views.get(queue)
        if known is None or known[0] is not memory:
            known = self._views[queue] = memory, memory.reshape(shape)
        return known[1]


def stateful_entry(direct: DirectEntry, surface: Surface, values: InitialValues) -> StatefulEntry | None:
    """Return how to run such a program; None where it feeds another program, or new values must be converted."""
    if not {result.queue for result in (*direct.outputs, *direct.updates)}.issuperset(surface.graphs[direct.graph].writes):
        return None
    updates: list[tuple[str, Variable, tuple[int, ...]]] = []
    for update in direct.updates:
        tensor = surface.queues[update.queue].tensor
        variable = values.holds(str(update.updates), update.dtype, tensor.format)
        if variable is None or -1 in tensor.shape or prod(tensor.shape) != variable.value.size:
            return None
        updates.append((update.queue, variable, tensor.shape))
    if len({queue for queue, _, _ in updates}) < len(updates) or len({id(variable) for _, variable, _ in updates}) < len(updates):
        return None
    reads = tuple((queue, values.variables[key]) for queue, key in direct.states)
    return StatefulEntry(direct, reads, tuple(updates))
