"""Runs of a graph's program on tensors: by the addresses of its inputs, which takes least time, where they are laid out as usual."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.model import Program
from ttc.dynamo.results import ComputedOutput, GivenOutput, ViewOutput
from ttc.dynamo.tensors import tensor_of
from ttc.importers.torch.dtypes import TORCH_DTYPES
from ttc.importers.torch.weights import array_of
from ttc.runtime.arguments import inputs_of, outputs_of
from ttc.runtime.executor import FORWARD, Executor


class _Input(NamedTuple):
    """An input of a graph: the position of the tensor that it is given, and its type."""

    name: str
    position: int
    array_dtype: np.dtype
    dtype: torch.dtype
    shape: tuple[int, ...]

    def address(self, tensor: torch.Tensor) -> int | None:
        """Return where a tensor's elements lie one after the other, as a run reads them; None if they do not."""
        if tensor.dtype is not self.dtype or tensor.shape != self.shape or not tensor.is_contiguous() or tensor.is_neg():
            return None
        address = tensor.data_ptr()
        return None if address % self.array_dtype.itemsize else address

    def array(self, tensor: torch.Tensor) -> NDArray:
        """Return a tensor's elements as an array.  Raises E0801 for a tensor of another type."""
        if tensor.dtype is not self.dtype:
            raise Error("E0801", f"input '{self.name}' is {tensor.dtype}, and the graph was compiled for {self.dtype}")
        return array_of(tensor, self.array_dtype)


class TensorRuns:
    """Runs a program `forward` on tensors.

    Args:
        entry: the program.
        positions: by names of its inputs, those of the tensors that they are given.
        outputs: of the graph, whose strides the tensors that are computed have.
    """

    def __init__(self, entry: Program, positions: Mapping[str, int], outputs: Iterable[GivenOutput | ComputedOutput | ViewOutput]) -> None:
        self._inputs = [_input(a.name, positions[a.name], np.dtype(a.dtype), tuple(a.shape)) for a in inputs_of(entry)]
        computed = [output.computed if isinstance(output, ViewOutput) else output for output in outputs]
        strides = {output.name: output.stride for output in computed if isinstance(output, ComputedOutput)}
        self._results = [(result.name, strides.get(result.name)) for result in outputs_of(entry)]

    def made(self, executor: Executor, given: Sequence[Any]) -> dict[str, torch.Tensor]:
        """Return the tensors that a run computes, by name; they are fresh.  Raises E08xx."""
        addresses = [each.address(given[each.position]) for each in self._inputs]
        arrays = None if None in addresses else executor.session.call_at(FORWARD, cast("list[int]", addresses))
        if arrays is None:
            found = executor.run({each.name: each.array(given[each.position]) for each in self._inputs})
            arrays = [found[name] for name, _ in self._results]
        return {name: tensor_of(array, stride) for (name, stride), array in zip(self._results, arrays, strict=True)}


def _input(name: str, position: int, dtype: np.dtype, shape: tuple[int, ...]) -> _Input:
    return _Input(name, position, dtype, TORCH_DTYPES[dtype], shape)
