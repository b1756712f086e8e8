"""Entry programs that are one graph on one microbatch, with states: they need no queues, and write new values in place."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from numpy.typing import NDArray

from ttc.dialects.core.records import record
from ttc.runtime.direct import DirectEntry
from ttc.runtime.engines.base import Plan
from ttc.runtime.machine.surface import Surface
from ttc.runtime.machine.values import Values
from ttc.runtime.machine.variables import Variable


@record(eq=False)
class StatefulEntry:
    """What a run of such a program takes.

    Args:
        direct: its inputs and outputs.
        reads: queues that show variables.
        updates: queues whose entries are new values of variables, with the shape of an entry; they are written in place, as plans that
            fail change no memory that they are given.
    """

    direct: DirectEntry
    reads: tuple[tuple[str, Variable], ...]
    updates: tuple[tuple[str, Variable, tuple[int, ...]], ...]

    def run(self, plan: Plan, given: Mapping[str, object]) -> dict[str, NDArray]:
        """The results on a user's arrays; variables have their new values.  Raises as `Plan.run` does, and then nothing has changed."""
        entries = self.direct.entries(given)
        for queue, variable in self.reads:
            entries[queue] = variable.value
        into: dict[str, NDArray] = {}
        for queue, variable, shape in self.updates:
            memory = variable.value
            into[queue] = memory if memory.shape == shape else memory.reshape(shape)  # plans remember the array, not the address
        return self.direct.results(plan.run(entries, into), entries)


def stateful_entry(direct: DirectEntry, surface: Surface, values: Values) -> StatefulEntry | None:
    """How to run such a program; None where it feeds another program, or new values must be converted."""
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
