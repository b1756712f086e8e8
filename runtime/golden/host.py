"""The host of a golden run: it pushes what a file gives, and draws what it does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.model import Queue
from ttc.runtime.golden.stimulus import Rules, draw, generator_of, stored


@dataclass(frozen=True)
class Host:
    """A source of entries for a `Session`.

    Args:
        given: values of queues by name, [entries, t, rows, columns].
        rules, seed: for the others.
        indices: queues of row numbers, with how many rows there are.
    """

    rules: Rules = Rules()
    seed: int = 0
    given: Mapping[str, NDArray] = field(default_factory=dict)
    indices: Mapping[str, int] = field(default_factory=dict)

    def __call__(self, queue: Queue, entry: int) -> NDArray:
        """Entry number `entry` as the queue's format holds it.  Raises E0801 if fewer are given."""
        values = self.given.get(queue.name)
        if values is not None:
            if entry >= len(values):
                hint = "give as many as the programs read, or lower the loop counts: --param"
                raise Error("E0801", f"queue '{queue.name}' needs more than the {len(values)} entries that are given", hint=hint)
            return stored(values[entry], queue)
        rows = self.indices.get(queue.name)
        if rows is not None:
            return stored(generator_of(queue.name, entry, self.seed).integers(0, rows, queue.tensor.shape), queue)
        return stored(draw(self.rules.of(queue.name), queue, entry, self.seed), queue)
