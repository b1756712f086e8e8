"""Steps of a plan in Python: nodes without a native kernel run through their reference kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.plain.functions import Function
from ttc.dialects.core.plain.interpret import Execute, Resolver, ready, run_unrounded, run_work
from ttc.dialects.core.records import record
from ttc.runtime.engines.native.instance import Instance
from ttc.runtime.engines.native.nodes import Node
from ttc.runtime.engines.native.storage import Storage, array_dtype
from ttc.runtime.engines.native.tensors import Buffer, Place, View
from ttc.runtime.evaluate import evaluate_all, guarded

if TYPE_CHECKING:
    from ttc.runtime.engines.native.prepared import Written


class Mismatch(Exception):
    """An array of another shape or type than was announced: an archive may lie about what its ops give."""


class Memory:
    """The values of one run, as arrays.

    Args:
        given, written: entries of queues that the graph reads, and those that it writes, by queue; a queue may be both.
        objects: values that Python holds, by number.
    """

    def __init__(
        self, instance: Instance, given: Mapping[str, NDArray], written: Mapping[str, NDArray], objects: dict[int, NDArray]
    ) -> None:
        self._instance = instance
        self._arrays = {Place.BOUND: given, Place.WRITTEN: written}
        self.objects = objects
        self._truths: dict[tuple[Buffer, int], bool] = {}

    def array(self, view: View) -> NDArray:
        """A view as an array of its storage type."""
        dtype, buffer = array_dtype(view.storage), view.buffer
        if buffer.place in self._arrays:
            whole = self._arrays[buffer.place][str(buffer.queue)]
        elif buffer.place is Place.CONSTANT and buffer.array is not None:
            whole = buffer.array
        else:
            whole = self._instance.bytes_of(buffer)
        flat = np.ascontiguousarray(whole).reshape(-1)
        strides = [step * dtype.itemsize for step in view.strides]
        return np.ndarray(view.shape, dtype, flat.view(np.uint8), view.offset * dtype.itemsize, strides)

    def truth(self, view: View) -> bool:
        """Whether the one element of a view is not 0; as it was when it was asked for first: it is computed once."""
        found = self._truths.get((view.buffer, view.offset))
        if found is None:
            found = self._truths[view.buffer, view.offset] = bool(self.array(view).item())
        return found

    def value(self, number: int, view: View | None) -> NDArray:
        """A value in the compute dtype of its format."""
        return self.objects[number] if view is None else _computed(self.array(view), view.storage)

    def operand(self, number: int, view: View | None, dtype: np.dtype | None) -> NDArray:
        """A value in the dtype that an op computes in, which integers may be held narrower than."""
        value = self.value(number, view)
        return value if view is None or dtype is None else value.astype(dtype, copy=False)

    def set(self, number: int, view: View | None, value: NDArray) -> None:
        """Put a result in its place.  What Python holds has memory of its own: an operand's in the arena does not last for it."""
        if view is None:
            self.objects[number] = value if value.flags.owndata else value.copy()
        else:
            self.array(view)[...] = stored(value, view.storage)

    def entry(self, written: Written, made: NDArray | None) -> NDArray:
        """A copy of a value for a queue; what Python holds as it is.  made: memory for it, in the type that it has."""
        value = self.value(written.value, written.view)
        if written.view is None:
            return value
        if made is None:
            return np.array(value, written.dtype, order="C", copy=True)
        np.copyto(made, value, casting="no")
        return made


@record(eq=False)
class PythonStep:
    """A node without a native kernel.

    Args:
        sources, targets: views of its operands and results; None for those that are absent, or that Python holds.
        dtypes: of the operands; None for those that are absent.
    """

    node: Node
    sources: tuple[View | None, ...]
    targets: tuple[View | None, ...]
    dtypes: tuple[np.dtype | None, ...]

    def run(self, memory: Memory, resolve: Resolver) -> None:
        """Compute it.  Raises what its reference kernel does, and Mismatch."""
        node = self.node
        if self._is_held:
            memory.objects[node.results[0]] = self._held(resolve)
            return
        operands = [memory.operand(*operand) for operand in self._present]
        results = self._evaluated(operands, resolve)
        for value, view, result in zip(node.results, self.targets, results, strict=True):
            memory.set(value, view, result)

    def _evaluated(self, operands: Sequence[NDArray], resolve: Resolver) -> Sequence[NDArray]:
        """Return the step's results, of the shapes announced.  Raises Mismatch."""
        node = self.node
        if self._ready is None:
            results = evaluate_all(self._function, operands, resolve, node.where, self._execute)
        else:
            ready, given = self._ready, iter(operands)
            every = [None if value is None else next(given) for value in node.operands]
            results = guarded(lambda: ready(every), node.where)
        if len(results) != len(node.results):
            raise Mismatch(node.where)
        for result, type_ in zip(results, node.work.results, strict=True):
            if result.shape != type_.shape and not _fits(result.shape, type_.shape):
                raise Mismatch(node.where)
        return results

    @property
    def _execute(self) -> Execute:
        """How an op runs in the reference engine."""
        return run_unrounded if self.node.unrounded else run_work

    @cached_property
    def _ready(self) -> Callable[[Sequence[NDArray | None]], list[NDArray]] | None:
        """The node with its kernel looked up, where that can be done once for all runs."""
        return ready(self.node.work, self._execute)

    @cached_property
    def _is_held(self) -> bool:
        """Whether its result is text of the program, the same in all runs."""
        return self.node.work.op == "ttc.constant" and self.targets == (None,)

    def _held(self, resolve: Resolver) -> NDArray:
        """The result of a constant, computed once; nobody can change it."""
        found = self.__dict__.get("_value")
        if found is None:
            found = self._evaluated((), resolve)[0].copy()
            found.flags.writeable = False
            self.__dict__["_value"] = found
        return found

    @cached_property
    def _present(self) -> tuple[tuple[int, View | None, np.dtype | None], ...]:
        """Operands that are not absent: their numbers, views and dtypes."""
        given = zip(self.node.operands, self.sources, self.dtypes, strict=True)
        return tuple((value, view, dtype) for value, view, dtype in given if value is not None)

    @cached_property
    def _function(self) -> Function:
        """The work as a function of these operands."""
        work, places = self.node.work, iter(range(len(self._present)))
        numbered = tuple(None if value is None else next(places) for value in self.node.operands)
        outputs = tuple(range(len(self._present), len(self._present) + len(work.results)))
        return Function((), (replace(work, operands=numbered),), outputs)


def _fits(shape: Sequence[int], wanted: Sequence[int]) -> bool:
    """Whether a shape is the one announced; -1 stands for any size."""
    return len(shape) == len(wanted) and all(d in (-1, n) for d, n in zip(wanted, shape, strict=True))


def _computed(stored: NDArray, storage: Storage) -> NDArray:
    """What the engine holds as numbers in the compute dtype."""
    if storage == "bf16":
        return (stored.astype(np.uint32) << 16).view(np.float32)
    return stored.astype(np.float32) if storage == "f16" else stored


def stored(value: NDArray, storage: Storage) -> NDArray:
    """Numbers that are rounded already as the engine holds them."""
    if storage == "bf16":
        return (np.ascontiguousarray(value, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return value
