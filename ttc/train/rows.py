"""How the rows of a call are divided: into updates or iterations, replicas and microbatches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record


@record(slots=True)
class Rows:
    """The factors of the rows of a call.  An iteration takes the rows of all its replicas, and a replica those of all its microbatches.

    Args:
        iterations: of a call.
        accumulate: microbatches of a replica in an iteration.
        replicas: that share the rows of an iteration.
        partial: what is done with rows that do not divide: `error`, `pad` (with copies of the last row) or `drop`.
        batch: rows of a microbatch, where that is fixed: an iteration then takes as many microbatches as its rows make.
    """

    iterations: int = 1
    accumulate: int = 1
    replicas: int = 1
    partial: str = "error"
    batch: int | None = None

    @property
    def pieces(self) -> int:
        """The number of microbatches of a call."""
        return self.iterations * self.accumulate * self.replicas

    def of_call(self, rows: int) -> Rows:
        """Return the factors of a call of so many rows that divide: where microbatches are fixed, more rows are more microbatches."""
        once = self.iterations * self.replicas * (self.batch or 1)
        return self if self.batch is None or not rows else replace(self, accumulate=rows // once)

    def fitted(self, given: Mapping[str, NDArray[Any]]) -> tuple[dict[str, NDArray[Any]], int]:
        """Return arrays whose rows divide, and how many of them were given.

        Args:
            given: arrays by input; those without dimensions are the same for all rows.
        Raises: E0801 if inputs have different numbers of rows, or rows do not divide, with all factors and the nearest sizes that do.
        """
        if not given:
            raise Error("E0801", "a call takes the model's inputs, and none is given")
        rows = rows_of(given)
        multiple = self.pieces * (self.batch or 1)
        rest = rows % multiple
        if not rest and rows:
            return dict(given), rows
        if self.partial == "pad" and rows:
            return {name: _padded(value, multiple - rest) if value.ndim else value for name, value in given.items()}, rows
        if self.partial == "drop" and rows > rest:
            return {name: value[: rows - rest] if value.ndim else value for name, value in given.items()}, rows - rest
        raise self._error(rows, multiple)

    def _error(self, rows: int, multiple: int) -> Error:
        near = max(rows // multiple, 1) * multiple
        sizes = f"the next sizes are {near} and {near + multiple}" if near < rows else f"the next size is {near}"
        factors = [f"{self.iterations} iterations", f"{self.accumulate} accumulated", f"{self.replicas} replicas"]
        if self.batch is not None:
            factors.insert(0, f"microbatches of {self.batch}")
        return Error("E0801", f"{rows} rows are no multiple of {multiple}: {' x '.join(factors)}", hint=sizes)


def parts(given: Mapping[str, NDArray[Any]], count: int) -> Iterator[dict[str, NDArray[Any]]]:
    """Yield so many equal parts of the rows of arrays, in order; arrays without dimensions whole."""
    size = rows_of(given) // count
    for number in range(count):
        piece = slice(number * size, (number + 1) * size)
        yield {name: np.ascontiguousarray(value[piece]) if value.ndim else value for name, value in given.items()}


def turns(given: Mapping[str, NDArray[Any]], rows: Rows) -> Iterator[dict[str, NDArray[Any]]]:
    """Yield what all replicas take at once of the rows of an iteration: the first microbatch of each, then the second, and so on."""
    if rows.accumulate == 1:
        yield dict(given)
        return
    shares = [list(parts(share, rows.accumulate)) for share in parts(given, rows.replicas)]
    for together in zip(*shares, strict=True):
        yield {name: np.concatenate([own[name] for own in together]) if value.ndim else value for name, value in together[0].items()}


def rows_of(given: Mapping[str, NDArray[Any]]) -> int:
    """Return the number of rows of arrays; 0 where none has any.  Raises E0801 if they have different numbers of them."""
    counts = {name: len(value) for name, value in given.items() if value.ndim}
    first = next(iter(counts), None)
    for name, count in counts.items():
        if first is not None and count != counts[first]:
            raise Error("E0801", f"'{first}' has {counts[first]} rows, and '{name}' {count}")
    return counts[first] if first is not None else 0


def _padded(value: NDArray[Any], count: int) -> NDArray[Any]:
    return np.concatenate([value, np.repeat(value[-1:], count, axis=0)])
