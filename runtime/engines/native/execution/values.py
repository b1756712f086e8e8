"""The values of one run, for what Python does between native jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.plain.interpret import Resolver
from ttc.runtime.engines.native.execution.instance import Instance
from ttc.runtime.engines.native.graph.storage import array_dtype, computed, stored
from ttc.runtime.engines.native.graph.tensors import Place, PlanBuffer, View
from ttc.runtime.engines.native.planning.prepared import Written
from ttc.runtime.engines.native.planning.python_step import PythonStep
from ttc.runtime.engines.result_memory import has_own_memory

ABSENT = -1
"""The number that stands for an absent operand."""


class RunValues:
    """The values of one run, as arrays.

    Args:
        given, written: entries of queues that the graph reads, and those that it writes, by queue; a queue may be both.
        objects: values that Python holds, by number.
    """

    def __init__(self, instance: Instance, given: Mapping[str, NDArray], written: Mapping[str, NDArray], objects: dict[int, Any]) -> None:
        self._instance = instance
        self._arrays = {Place.BOUND: given, Place.WRITTEN: written}
        self.objects = objects
        objects[ABSENT] = None
        self._truths: dict[tuple[PlanBuffer, int], bool] = {}

    def array(self, view: View) -> NDArray:
        """Return a view as an array of its storage type; of memory that is the plan's own, the same in all runs."""
        known = self._instance.arrays.get(id(view))
        if known is not None:
            return known
        dtype, buffer = array_dtype(view.storage), view.buffer
        if buffer.place in self._arrays:
            whole = self._arrays[buffer.place][str(buffer.queue)]
        elif buffer.place is Place.CONSTANT and buffer.array is not None:
            whole = buffer.array
        else:
            whole = self._instance.bytes_of(buffer)
        flat = np.ascontiguousarray(whole).reshape(-1)
        strides = [step * dtype.itemsize for step in view.strides]
        found = np.ndarray(view.shape, dtype, flat.view(np.uint8), view.offset * dtype.itemsize, strides)
        if buffer.place not in self._arrays:
            self._instance.arrays[id(view)] = found
        return found

    def truth(self, view: View) -> bool:
        """Return whether the one element of a view is not 0, as it was when first asked for: it is computed once."""
        found = self._truths.get((view.buffer, view.offset))
        if found is None:
            found = self._truths[view.buffer, view.offset] = bool(self.array(view).item())
        return found

    def value(self, number: int, view: View | None) -> NDArray:
        """Return a value in the compute dtype of its format."""
        return self.objects[number] if view is None else computed(self.array(view), view.storage)

    def operand(self, number: int, view: View | None, dtype: np.dtype | None) -> NDArray:
        """Return a value in the dtype that an op computes in, which integers may be held narrower than."""
        value = self.value(number, view)
        return value if view is None or dtype is None else value.astype(dtype, copy=False)

    def set(self, number: int, view: View | None, value: NDArray) -> None:
        """Put a result in its place; one that Python holds gets memory of its own, as an operand's in the arena does not last as long."""
        if view is None:
            self.objects[number] = value if has_own_memory(value) else value.copy()
        else:
            self.array(view)[...] = stored(value, view.storage)

    def entry(self, written: Written, made: NDArray | None) -> NDArray:
        """Return a copy of a value for a queue; what Python holds as it is.  made: memory for the copy, in the type of the queue."""
        value = self.value(written.value, written.view)
        if made is None:
            return value
        made[...] = value
        return made

    def compute(self, step: PythonStep, resolve: Resolver) -> None:
        """Run a step and put its results in their places.  Raises what its reference kernel does, and Mismatch."""
        node = step.node
        if step.is_held:
            self.objects[node.results[0]] = step.held(resolve)
            return
        operands = [self.operand(*operand) for operand in step.present]
        for value, view, result in zip(node.results, step.targets, step.evaluated(operands, resolve), strict=True):
            self.set(value, view, result)
