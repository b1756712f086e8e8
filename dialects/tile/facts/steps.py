"""What a composite computes on each of its rows, in elementwise functions and statistics.

    SOFTMAX = steps("top = max x", "low = sub x top", "powers = exp low", ...)

Buda's expansion of the op and its cost on a core both follow these steps.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

STATISTICS = frozenset({"max", "mean", "sum"})
"""Functions that give one number for each row, by the names that `tile.reduce` has for them."""


class CompositeStep(NamedTuple):
    """One step: a statistic, or an elementwise function by its name in nn, of values that have names.

    Args:
        result: name of what it gives; the last step gives the result of the op.
        fn: its function.
        values: names of earlier results, of operands, or of attributes that are numbers.
    """

    result: str
    fn: str
    values: tuple[str, ...]

    @property
    def is_statistic(self) -> bool:
        """Whether the step gives one number for each row."""
        return self.fn in STATISTICS


def steps(*lines: str) -> tuple[CompositeStep, ...]:
    """Return the steps that lines of the form `result = function value ...` state."""
    found: list[CompositeStep] = []
    for line in lines:
        result, _, call = line.partition(" = ")
        fn, *values = call.split()
        found.append(CompositeStep(result, fn, tuple(values)))
    return tuple(found)


def taken(all_steps: Collection[CompositeStep], absent: Collection[str]) -> list[CompositeStep]:
    """Return the steps without those that take an operand that the op at hand lacks."""
    return [step for step in all_steps if not set(step.values) & set(absent)]
