"""Steps in Python with all that is the same in every run of an instance looked up once: kernels, memory of operands and of results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.evaluate import MALFORMED
from ttc.dialects.core.plain.interpret import Resolver, rounded_results
from ttc.dialects.core.records import record
from ttc.runtime.engines.native.execution.values import ABSENT, RunValues
from ttc.runtime.engines.native.graph.storage import array_dtype, computed, stored
from ttc.runtime.engines.native.graph.tensors import Place, View
from ttc.runtime.engines.native.planning.python_step import Mismatch, PythonStep
from ttc.runtime.engines.result_memory import has_own_memory

BoundStep: TypeAlias = Callable[[RunValues], None]
"""Runs a step on the values of a run.  Raises what `RunValues.compute` does."""
_Moved: TypeAlias = "tuple[View, np.dtype | None]"
_Reads: TypeAlias = "tuple[tuple[int, NDArray | None, _Moved | None], ...]"
"""Operands: an array that lies where it lies in every run; what lies elsewhere in each, and the dtype that it is computed in; the number of
a value that Python holds; ABSENT."""


@record(eq=False)
class _Write:
    """Where a result goes.

    Args:
        number: of the value, if Python holds it.
        array: the memory that takes it; None if Python holds it.
        rank: dimensions that are announced.
        sizes: of those of them that no data decide, by dimension.
        shared: whether a result may be a view of memory that the next run, or a later step, writes.
    """

    number: int
    array: NDArray | None
    rank: int
    sizes: tuple[tuple[int, int], ...]
    shared: bool

    def put(self, value: NDArray, objects: dict[int, Any], where: PythonStep) -> None:
        """Put a result there, or among what Python holds, which stays as it is.  Raises Mismatch."""
        shape = value.shape
        if len(shape) != self.rank:
            raise Mismatch(where.node.where)
        for dimension, size in self.sizes:
            if shape[dimension] != size:
                raise Mismatch(where.node.where)
        if self.array is not None:
            self.array[...] = value
        elif self.shared and not has_own_memory(value):
            objects[self.number] = value.copy()
        else:
            objects[self.number] = value


def bound_step(step: PythonStep, values: RunValues, resolve: Callable[[], Resolver]) -> BoundStep:
    """Return how a step runs on the instance that values are of; by `RunValues.compute` where its memory changes from run to run.

    Args:
        resolve: gives what gives constants, when it is asked for.
    """

    def anyhow(values: RunValues) -> None:
        values.compute(step, resolve())

    prepared = None if step.is_held else step.prepared(resolve)
    reads = _reads(step, values)
    writes = _writes(step, values, shared=any(array is not None or moved for _, array, moved in reads))
    if prepared is None or writes is None:
        return anyhow
    compute, roundings = prepared
    held = None if any(moved for _, _, moved in reads) else [(number, array) for number, array, _ in reads]
    single = writes[0] if len(writes) == 1 else None

    def run(values: RunValues) -> None:
        objects = values.objects
        try:
            if held is None:
                operands = [_operand(values, *read) for read in reads]
            else:
                operands = [objects[number] if array is None else array for number, array in held]
            found = rounded_results(compute(*operands), roundings)
        except (Error, MemoryError, *MALFORMED):
            return anyhow(values)  # which says what is wrong, and where
        if len(found) != len(writes):
            raise Mismatch(step.node.where)
        if single is not None:
            single.put(found[0], objects, step)
            return None
        for write, value in zip(writes, found, strict=True):
            write.put(value, objects, step)

    return run


def _operand(values: RunValues, number: int, array: NDArray | None, moved: _Moved | None) -> NDArray | None:
    """Return an operand of a step that has some in memory of the caller's."""
    if array is not None:
        return array
    return values.objects[number] if moved is None else values.operand(number, *moved)


def _reads(step: PythonStep, values: RunValues) -> _Reads:
    """Return where the operands lie."""
    given = iter(step.present)
    found: list[tuple[int, NDArray | None, _Moved | None]] = []
    for value in step.node.operands:
        if value is None:
            found.append((ABSENT, None, None))
            continue
        number, view, dtype = next(given)
        array = None if view is None else _own(view, values)
        if view is None:
            found.append((number, None, None))
        elif array is None or computed(array, view.storage) is not array or (dtype is not None and array.dtype != dtype):
            found.append((number, None, (view, dtype)))
        else:
            found.append((number, array, None))
    return tuple(found)


def _writes(step: PythonStep, values: RunValues, *, shared: bool) -> tuple[_Write, ...] | None:
    """Return where the results go; None if one goes to memory of the caller's, or is held in another type than it is computed in."""
    found: list[_Write] = []
    for number, view, type_ in zip(step.node.results, step.targets, step.node.work.results, strict=True):
        array = None if view is None else _own(view, values)
        if view is not None and (array is None or stored(array, view.storage) is not array):
            return None
        sizes = tuple((dimension, size) for dimension, size in enumerate(type_.shape) if size != -1)
        found.append(_Write(number, array, len(type_.shape), sizes, shared))
    return tuple(found)


def _own(view: View, values: RunValues) -> NDArray | None:
    """Return a view of the plan's own memory as an array; None for memory of the caller's."""
    if view.buffer.place not in (Place.ARENA, Place.CONSTANT):
        return None
    array = values.array(view)
    return array if array.dtype == array_dtype(view.storage) else None
