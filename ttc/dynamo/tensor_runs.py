"""Runs of a graph's program on tensors: by the addresses of its inputs, which takes least time, where they are laid out as usual."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.model import Argument, Program
from ttc.dynamo.results import ComputedOutput, GivenOutput, ViewOutput
from ttc.dynamo.tensors import empty_strided, tensor_of
from ttc.importers.torch.dtypes import TORCH_DTYPES
from ttc.importers.torch.weights import array_of
from ttc.runtime.arguments import inputs_of, outputs_of
from ttc.runtime.engines.result_memory import LARGE_BYTES, ResultMemory
from ttc.runtime.executor import FORWARD, Executor
from ttc.runtime.pages import aligned_bytes


class _Input(NamedTuple):
    """An input of a graph: the position of the tensor that it is given, and its type."""

    name: str
    position: int
    array_dtype: np.dtype
    dtype: torch.dtype
    shape: tuple[int, ...]
    alignment: int

    def array(self, tensor: torch.Tensor) -> NDArray:
        """Return a tensor's elements as an array.  Raises E0801 for a tensor of another type."""
        if tensor.dtype is not self.dtype:
            raise Error("E0801", f"input '{self.name}' is {tensor.dtype}, and the graph was compiled for {self.dtype}")
        return array_of(tensor, self.array_dtype)


class _Result(NamedTuple):
    """A value that a run computes, whose elements lie one after the other, and the tensor that shows it.

    Args:
        shape: of the value.
        size, stride: of the tensor that shows the same memory, in elements.
        copied: strides of a copy of that tensor, which is given instead of it; None where it is given itself.
    """

    name: str
    array_dtype: np.dtype
    dtype: torch.dtype
    shape: tuple[int, ...]
    size: tuple[int, ...]
    stride: tuple[int, ...]
    copied: tuple[int, ...] | None

    @property
    def size_bytes(self) -> int:
        """The bytes of the value."""
        return prod(self.shape) * self.array_dtype.itemsize

    def makes(self, memory: ResultMemory) -> Callable[[], torch.Tensor]:
        """Return what makes a tensor for a run to write the value into, and raises MemoryError."""
        if self.size_bytes < LARGE_BYTES:
            return partial(empty_strided, self.size, self.stride, self.dtype)
        return lambda: self.shown(memory.array(self.shape, self.array_dtype))

    def shown(self, array: NDArray) -> torch.Tensor:
        """Return a tensor that shows the memory of an array with the value."""
        tensor = tensor_of(array)
        as_it_is = (self.size, self.stride) == (tensor.shape, tensor.stride())
        return tensor if as_it_is else tensor.as_strided(self.size, self.stride)

    def given(self, written: torch.Tensor) -> torch.Tensor:
        """Return the tensor that is given, of the one that was written."""
        return written if self.copied is None else torch.empty_strided(self.size, self.copied, dtype=self.dtype).copy_(written)


class TensorRuns:
    """Runs a program `forward` on tensors, and gives the outputs of a graph.

    Args:
        entry: the program.
        positions: by names of its inputs, those of the tensors that they are given.
        outputs: of the graph.
    """

    def __init__(self, entry: Program, positions: Mapping[str, int], outputs: Sequence[GivenOutput | ComputedOutput | ViewOutput]) -> None:
        self._inputs = [_input(a.name, positions[a.name], np.dtype(a.dtype), tuple(a.shape)) for a in inputs_of(entry)]
        results = outputs_of(entry)
        whole = shown_whole(outputs, {result.name: tuple(result.shape) for result in results})
        self._outputs = [output.computed if isinstance(output, ViewOutput) and output.name in whole else output for output in outputs]
        computed = [output.computed if isinstance(output, ViewOutput) else output for output in outputs]
        strides = {output.name: output.stride for output in computed if isinstance(output, ComputedOutput)}
        self._results = [_result(a, whole.get(a.name), strides.get(a.name)) for a in results]
        memory = ResultMemory((result.size_bytes for result in self._results), aligned_bytes)
        self._tensors = [result.makes(memory) for result in self._results]

    def __call__(self, executor: Executor, given: Sequence[Any]) -> list[Any]:
        """Return the outputs, for values of the graph's placeholders; tensors that a run computes are fresh.  Raises E08xx."""
        written = self._written(executor, given)
        if written is None:
            found = executor.run({each.name: each.array(given[each.position]) for each in self._inputs})
            written = [result.shown(found[result.name]) for result in self._results]
        made = {result.name: result.given(tensor) for result, tensor in zip(self._results, written, strict=True)}
        return [output.of(given, made) for output in self._outputs]

    def _written(self, executor: Executor, given: Sequence[Any]) -> list[torch.Tensor] | None:
        """Return what a run on the memory of tensors computes; None where there is no such run, which changes nothing."""
        addresses: list[int] = []
        for _, position, _, dtype, shape, alignment in self._inputs:
            tensor = given[position]
            if tensor.dtype is not dtype or tensor.shape != shape or not tensor.is_contiguous() or tensor.is_neg():
                return None
            addresses.append(address := tensor.data_ptr())
            if address % alignment:
                return None
        try:
            written = [tensor() for tensor in self._tensors]
        except MemoryError:  # the reference engine may do with less
            return None
        done = executor.session.call_at(FORWARD, addresses, [tensor.data_ptr() for tensor in written])
        return written if done else None


def _input(name: str, position: int, dtype: np.dtype, shape: tuple[int, ...]) -> _Input:
    return _Input(name, position, dtype, TORCH_DTYPES[dtype], shape, dtype.itemsize)


def _result(result: Argument, view: ViewOutput | None, stride: tuple[int, ...] | None) -> _Result:
    """view: the output that shows all of the value; None for the value as it is."""
    shape, dtype = tuple(result.shape), np.dtype(result.dtype)
    size, own = (shape, torch.empty(shape, device="meta").stride()) if view is None else (view.size, view.stride)
    return _Result(result.name, dtype, TORCH_DTYPES[dtype], shape, size, own, stride)


def shown_whole(
    outputs: Sequence[GivenOutput | ComputedOutput | ViewOutput], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, ViewOutput]:
    """Return outputs that alone show a value, and show each of its elements once, by its name: the value may be written as they are."""
    shown = Counter(output.name for output in outputs if not isinstance(output, GivenOutput))
    views = [output for output in outputs if isinstance(output, ViewOutput) and shown[output.name] == 1 and output.computed.stride is None]
    return {view.name: view for view in views if view.offset == 0 and _is_order(view.size, view.stride, prod(shapes[view.name]))}


def _is_order(size: Sequence[int], stride: Sequence[int], count: int) -> bool:
    """Return whether a tensor shows each of so many elements once."""
    form = torch.empty_strided(size, stride, device="meta")
    return form.numel() == count and torch.ops.aten.is_non_overlapping_and_dense(form)
