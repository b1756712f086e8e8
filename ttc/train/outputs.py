"""Which of a call's outputs the user gets: of all microbatches, of some, or what they add up to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.settings.loop_options import read_output
from ttc.train.rows import Rows

T = TypeVar("T")


@record(slots=True)
class OutputMode:
    """The mode in which outputs of several microbatches are given.

    all: all rows, in order.  last: those of the last microbatch.  sum, mean: over microbatches of
    each replica, element by element.  every: those of each
    N-th microbatch, in order.  loss: none.

    Args:
        name: one of `loop_options.MODES`.
        interval: N of `every`.
    """

    name: str
    interval: int = 1

    @staticmethod
    def of(text: str) -> OutputMode:
        """Return the mode of `all`, `last`, `sum`, `mean`, `loss` or `every:N`. Raises ValueError with the reason."""
        return OutputMode(*read_output(text))

    def chosen(self, microbatches: Sequence[Sequence[NDArray[Any]]], rows: Rows | None = None) -> tuple[NDArray[Any], ...]:
        """Return the outputs to give, of those of each microbatch in order.

        `last`, `sum` and `mean` give those of each replica, one after another; `every` counts the microbatches of each replica.

        Args:    rows: how microbatches are divided; None: they are those of one replica.
        Raises:  E0801 for fewer microbatches than `every` counts.
        """
        if self.name == "loss":
            return ()
        replicas = _by_replica(microbatches, rows or Rows(accumulate=len(microbatches)))
        match self.name:
            case "all":
                found = list(microbatches)
            case "last":
                found = [arrays[-1] for arrays in replicas]
            case "every" if len(replicas[0]) < self.interval:
                raise Error("E0801", f"output 'every:{self.interval}' gives none of {len(replicas[0])} microbatches")
            case "every":
                found = [arrays for own in replicas for arrays in own[self.interval - 1 :: self.interval]]
            case _:
                found = [[self._joined(arrays) for arrays in zip(*own, strict=True)] for own in replicas]
        return tuple(_one_after_another(arrays) for arrays in zip(*found, strict=True))

    def count(self, rows: Rows) -> int:
        """Return how many microbatches' rows are given of a call, by the table of its modes."""
        own = rows.iterations * rows.accumulate
        return {"all": rows.pieces, "loss": 0, "every": rows.replicas * (own // self.interval)}.get(self.name, rows.replicas)

    def aligned(self, labels: Any, rows: Rows) -> Any:
        """Return the rows of labels that belong to the outputs given, in the order of these.

        Args:   labels: an array or tensor with a row for each of the call.
        Raises: E0101 where outputs are of no rows; E0801 for rows that do not divide.
        """
        if self.name in ("sum", "mean", "loss"):
            raise Error("E0101", f"output '{self.name}' is not of single rows: no labels belong to it")
        count = rows.fitted({"labels": np.empty((len(labels), 0))})[1]
        if self.name == "all":
            return labels[:count]
        rows = rows.of_call(count)
        size = count // rows.pieces
        numbers = [(np.arange(first, first + size),) for first in range(0, size * rows.pieces, size)]
        return labels[self.chosen(numbers, rows)[0]]

    def _joined(self, arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
        if self.name == "sum":
            return np.add.reduce(np.stack(arrays), dtype=arrays[0].dtype)
        return (np.add.reduce(np.stack(arrays), dtype=np.float64) / len(arrays)).astype(arrays[0].dtype)


def _by_replica(microbatches: Sequence[T], rows: Rows) -> list[list[T]]:
    """Return the microbatches of each replica, in order: those of an iteration are of one replica after another."""
    found: list[list[T]] = [[] for _ in range(rows.replicas)]
    for number, item in enumerate(microbatches):
        found[number // rows.accumulate % rows.replicas].append(item)
    return found


def _one_after_another(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    if len(arrays) == 1:
        return arrays[0]
    return np.concatenate(arrays) if arrays[0].ndim else np.stack(arrays)
