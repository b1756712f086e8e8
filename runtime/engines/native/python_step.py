"""Steps of a plan in Python: nodes without a native kernel run through their reference kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.interpret import Resolver, run_unrounded, run_work
from ttc.dialects.core.plain import Function, Work
from ttc.dialects.core.records import record
from ttc.runtime.engines.native.instance import Instance
from ttc.runtime.engines.native.nodes import Node
from ttc.runtime.engines.native.storage import Storage, array_dtype
from ttc.runtime.engines.native.tensors import Buffer, Place, View
from ttc.runtime.evaluate import evaluate_all


class Mismatch(Exception):
    """An array of another shape or type than was announced: an archive may lie about what its ops give."""


class Memory:
    """The values of one run, as arrays.

    Args:
        arrays: entries of queues, given and to be written, by queue.
        objects: values that Python holds, by number.
    """

    def __init__(self, instance: Instance, arrays: Mapping[str, NDArray], objects: dict[int, NDArray]) -> None:
        self._instance = instance
        self._arrays = arrays
        self.objects = objects
        self._truths: dict[tuple[Buffer, int], bool] = {}

    def array(self, view: View) -> NDArray:
        """A view as an array of its storage type."""
        dtype, buffer = array_dtype(view.storage), view.buffer
        if buffer.place in (Place.BOUND, Place.WRITTEN):
            whole = self._arrays[str(buffer.queue)]
        elif buffer.place is Place.CONSTANT and buffer.array is not None:
            whole = buffer.array
        else:
            whole = self._instance.bytes_of(buffer)
        flat = whole.reshape(-1)
        flat = flat if flat.dtype == dtype else flat.view(np.uint8).view(dtype)
        return np.lib.stride_tricks.as_strided(flat[view.offset :], view.shape, [s * dtype.itemsize for s in view.strides])

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

    def entry(self, number: int, view: View | None, dtype: np.dtype) -> NDArray:
        """A copy of a value for a queue; what Python holds as it is."""
        value = self.value(number, view)
        return value if view is None else np.array(value, dtype, order="C", copy=True)


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
        given = zip(node.operands, self.sources, self.dtypes, strict=True)
        present = [(value, view, dtype) for value, view, dtype in given if value is not None]
        operands = iter(range(len(present)))
        work = node.work
        numbered = tuple(None if value is None else next(operands) for value in node.operands)
        outputs = tuple(range(len(present), len(present) + len(work.results)))
        function = Function((), (_renumbered(work, numbered),), outputs)
        execute = run_unrounded if node.unrounded else run_work
        results = evaluate_all(function, [memory.operand(*operand) for operand in present], resolve, node.where, execute)
        if len(results) != len(node.results):
            raise Mismatch(node.where)
        for value, view, result, type_ in zip(node.results, self.targets, results, work.results, strict=True):
            if len(type_.shape) != result.ndim or any(d not in (-1, n) for d, n in zip(type_.shape, result.shape, strict=True)):
                raise Mismatch(node.where)
            memory.set(value, view, result)


def _renumbered(work: Work, operands: tuple[int | None, ...]) -> Work:
    return replace(work, operands=operands)


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
