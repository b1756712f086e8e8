"""`ttc.DataLoader`: batches with exactly the rows that a call of an executor takes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error, nearest
from ttc.settings.loop_options import PARTIAL_BATCHES
from ttc.train.batches import Batches, check_divides
from ttc.train.data import read_arrays
from ttc.train.host import taken
from ttc.train.rows import Rows

TARGET = "target"
"""The name of the array of a data set that comes last, as losses take it."""


class DataLoader:
    """Goes through a data set once each time it is iterated over, in batches of batch x iterations x accumulate x replicas rows.

    A batch is a tuple of arrays, or of tensors where the data set is one of torch.

    Args:
        data: a data set of torch with a length; an array or tensor, or a sequence of several, or a mapping by name; or the path of an .npz
            file, or of a folder of .npy files.  Of names `target` comes last, the others in alphabetical order.
        batch: rows of a microbatch.
        iterations, accumulate, replicas: as executors have them.
        shuffle: whether each epoch takes the rows in an order of its own.
        seed: of the orders.
        partial: what is done with rows at the end of an epoch that fill no batch: drop, pad (the last batch begins again with the first
            rows), or error.
    Raises: E0101 for options; E0102, E0801 for data that cannot be read or do not fit; E0801 where rows fill no batch.
    """

    def __init__(
        self,
        data: Any,
        batch: int,
        *,
        iterations: int = 1,
        accumulate: int = 1,
        replicas: int = 1,
        shuffle: bool = False,
        seed: int = 0,
        partial: str = "drop",
    ) -> None:
        for name, value in (("batch", batch), ("iterations", iterations), ("accumulate", accumulate), ("replicas", replicas)):
            if type(value) is not int or value < 1:
                raise Error("E0101", f"{name} cannot be {value!r}", hint="it takes an integer of at least 1")
        if partial not in PARTIAL_BATCHES:
            raise Error("E0101", f"partial cannot be '{str(partial)[:40]}'", hint=nearest(str(partial), PARTIAL_BATCHES))
        self._source = _source_of(data)
        self.size = batch * Rows(iterations, accumulate, replicas).pieces
        """Rows of a batch."""
        self.epoch = 0
        """How often the data were gone through."""
        self._partial = partial
        self._batches = Batches(self._source.rows, self.size, shuffle, seed)
        if partial == "pad":
            check_divides(max(self._source.rows, self.size), self.size, "the data set", "drop")
        else:
            check_divides(self._source.rows, self.size, "the data set", partial)

    def __len__(self) -> int:
        """Return the number of batches of an epoch."""
        return -(-self._source.rows // self.size) if self._partial == "pad" else self._batches.per_epoch

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        order = self._batches.order(self.epoch)
        self.epoch += 1
        order = np.resize(order, len(self) * self.size)  # begins again where it is too short
        for first in range(0, len(order), self.size):
            yield self._source.take(order[first : first + self.size])


class _Arrays:
    """Rows of arrays in memory or in files."""

    def __init__(self, arrays: Sequence[Any]) -> None:
        self._arrays = [taken(array) for array in arrays]
        self._in_torch = [type(array).__module__.partition(".")[0] == "torch" for array in arrays]
        if not arrays or any(array.ndim == 0 for array in self._arrays):
            raise Error("E0801", "the data set has no arrays, or one without rows")
        counts = sorted({len(array) for array in self._arrays})
        if len(counts) > 1:
            raise Error("E0801", f"arrays of the data set have {counts[0]} and {counts[-1]} rows")
        self.rows = counts[0]

    def take(self, rows: NDArray[np.int64]) -> tuple[Any, ...]:
        """Return copies of these rows."""
        return tuple(_tensor(x[rows]) if torch else x[rows] for x, torch in zip(self._arrays, self._in_torch, strict=True))


class _Samples:
    """Samples of a data set of torch, which are put together as its own loader does."""

    def __init__(self, data: Any) -> None:
        self._data = data
        self.rows = len(data)

    def take(self, rows: NDArray[np.int64]) -> tuple[Any, ...]:
        """Return these samples, put together."""
        from torch.utils.data import default_collate

        found = default_collate([self._data[int(row)] for row in rows])
        return tuple(found) if isinstance(found, list | tuple) else (found,)


def _source_of(data: Any) -> _Arrays | _Samples:
    if isinstance(data, str | os.PathLike):
        return _source_of(read_arrays(Path(data)))
    if isinstance(data, Mapping):
        return _Arrays([data[name] for name in sorted(data, key=lambda name: (name == TARGET, name))])
    if isinstance(data, list | tuple):
        return _Arrays(data)
    if hasattr(data, "shape"):
        return _Arrays([data])
    if hasattr(data, "__getitem__") and hasattr(data, "__len__"):
        return _Samples(data)
    raise Error(
        "E0801", f"a {type(data).__name__} has no rows that can be taken in any order", hint="give arrays, or a data set with a length"
    )


def _tensor(array: NDArray[Any]) -> Any:
    from ttc.dynamo.tensors import tensor_of

    return tensor_of(np.ascontiguousarray(array))
