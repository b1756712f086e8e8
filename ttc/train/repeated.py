"""Updates by arrays like those of the call before: what is the same from call to call is looked up and checked once."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.train.host import taken
from ttc.train.replicas import Replicas
from ttc.train.updates import Outcome, Updates

SMALL_BYTES = 1 << 16
"""The most bytes of a tensor that is copied: that takes less time than to make an array of its memory."""
_Take: TypeAlias = "Callable[[Any], NDArray[Any] | None]"
"""Returns a value as an array; None if it is not of the kind that is expected."""


class RepeatedUpdate:
    """One fused step of one session, for a call whose rows are those of one microbatch.

    Args:
        updates: whose step it is.
        arrays: of a call that went well: inputs, then targets; others must be of their kinds, types and shapes.
    """

    def __init__(self, updates: Updates, arrays: Sequence[Any]) -> None:
        self.updates = updates
        names = [*updates.training.inputs, *updates.training.targets]
        self._takes = tuple(zip(names, map(_take_of, arrays), strict=True))
        self._hyper: Mapping[str, float] | None = None
        self._numbers: dict[str, NDArray[Any]] = {}

    def given(self, arrays: Sequence[Any]) -> dict[str, NDArray[Any]] | None:
        """Return the arrays of a call by name, until the next call; None if they are not like those before."""
        if len(arrays) != len(self._takes):
            return None
        found: dict[str, NDArray[Any]] = {}
        for (name, take), value in zip(self._takes, arrays, strict=True):
            array = take(value)
            if array is None:
                return None
            found[name] = array
        return found

    def run(self, given: dict[str, NDArray[Any]], hyper: Mapping[str, float]) -> Outcome:
        """Update the parameters by what `given` gave.

        Args:   hyper: as `Updates.update` takes it.
        Raises: as `Session.call` does, and then nothing has changed.
        """
        if hyper != self._hyper:
            self._numbers = self.updates.numbers(hyper)
            self._hyper = dict(hyper)
        given.update(self._numbers)
        return self.updates.step(given)


def repeated_update(replicas: object, arrays: Sequence[Any], rows: int) -> RepeatedUpdate | None:
    """Return how to repeat an update of so many rows; None where it is not one fused step on one microbatch."""
    if not isinstance(replicas, Replicas) or not replicas.is_single:
        return None
    updates = replicas.first
    return RepeatedUpdate(updates, arrays) if updates.is_fused and rows == updates.batch == updates.whole else None


def _take_of(example: Any) -> _Take:
    """Return what takes values like an example."""
    array = taken(example)
    dtype, shape = array.dtype, array.shape
    if type(example) is np.ndarray:
        return lambda value: value if type(value) is np.ndarray and value.dtype == dtype and value.shape == shape else None
    if type(example).__module__ != "torch":
        return lambda value: None
    return _tensor_take(example, array)


def _tensor_take(example: Any, array: NDArray[Any]) -> _Take:
    """Return what takes tensors of the example's type and shape: small ones by a copy, in the same array every time."""
    kind, dtype, shape, size = type(example), example.dtype, array.shape, array.nbytes
    memory = np.empty(shape, array.dtype) if size <= SMALL_BYTES else None
    address = 0 if memory is None else memory.ctypes.data

    def take(value: Any) -> NDArray[Any] | None:
        if type(value) is not kind or value.dtype is not dtype or value.shape != shape:
            return None
        if memory is None or not (value.is_cpu and value.is_contiguous()) or value.is_neg():
            return taken(value)
        ctypes.memmove(address, value.data_ptr(), size)
        return memory

    return take
