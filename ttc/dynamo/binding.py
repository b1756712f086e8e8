"""Tensors of a model that a compiled graph holds prepared: each call compares them with what was prepared."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any, NamedTuple, TypeAlias

import torch
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.importers.torch.dtypes import dtype_of
from ttc.importers.torch.weights import array_of
from ttc.runtime.derive import Derivation
from ttc.runtime.executor import Executor
from ttc.runtime.manifest import Description
from ttc.runtime.program import Program
from ttc.runtime.tensors import TensorSource

Build: TypeAlias = Callable[[Mapping[str, TensorSource]], Program]
MAX_MODELS = 64
"""The most models that one graph is kept bound to: modules of one class share what is compiled for it."""
_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
"""Integers by size in bytes, as which numbers are the same bit by bit."""
_memcmp = ctypes.CDLL(None).memcmp
_memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class BoundParameter(NamedTuple):
    """A tensor of the model: its name in the program, and the position of the placeholder that gives it."""

    name: str
    position: int


class Outdated(Exception):
    """A tensor changed whose value the compiled program holds for good."""


class Changed(Exception):
    """Tensors of a model changed that were prepared for it; `positions`: of the placeholders that give them."""

    def __init__(self, positions: Sequence[int]) -> None:
        super().__init__(positions)
        self.positions = tuple(positions)


class _Copy(NamedTuple):
    """A tensor as it was when it was prepared: a copy of its own memory, without gaps."""

    tensor: torch.Tensor
    shape: torch.Size
    stride: tuple[int, ...]
    dtype: torch.dtype
    address: int
    size_bytes: int

    @staticmethod
    def of(tensor: torch.Tensor) -> _Copy:
        copy = tensor.detach().resolve_neg().clone()
        return _Copy(copy, copy.shape, copy.stride(), copy.dtype, copy.data_ptr(), copy.numel() * copy.element_size())

    def is_of(self, tensor: torch.Tensor) -> bool:
        """Return whether the tensor has these values, bit by bit."""
        if tensor.shape != self.shape or tensor.dtype != self.dtype:
            return False
        tensor = tensor.resolve_neg()
        if tensor.stride() != self.stride:
            bits = _BITS[self.dtype.itemsize]
            return torch.equal(tensor.detach().view(bits), self.tensor.view(bits))
        return _memcmp(tensor.data_ptr(), self.address, self.size_bytes) == 0


@record
class _Bound:
    """A session for a model.

    Args:
        copies: of the tensors that it was prepared with, by their order in the binding.
        watches: end the session with the model.
    """

    executor: Executor
    copies: list[_Copy]
    watches: list[weakref.ref[torch.Tensor]]


class Binding:
    """Gives the session for a model's tensors as they are now.  Thread-safe.

    There are ways to write to a tensor that move neither its address nor PyTorch's version of it (fused optimizers, `p.data`, arrays of its
    memory, collectives), so values are compared themselves, at the speed of memory.  What training changes at each step is no tensor of a
    binding but an input of the graph (`aot`), and so is, from then on, what was found changed once: the next change is likely, and reading
    a tensor takes less time than to prepare it again.

    Args:
        build: makes the program of stored tensors.
        sources: of them, with the values of `given`.
        parameters: of the program.
        given: values of the placeholders.
        baked: names of those whose values went into the program itself.
    """

    def __init__(
        self,
        build: Build,
        sources: Mapping[str, TensorSource],
        description: Description,
        parameters: Sequence[BoundParameter],
        given: Sequence[Any],
        baked: frozenset[str],
    ) -> None:
        known = {*description.parameters, *baked}
        held = [p for p in parameters if p.name in known]
        held.sort(key=lambda p: not isinstance(given[p.position], torch.nn.Parameter))
        self._names = [p.name for p in held]
        self._positions = [p.position for p in held]
        self._owned = sum(isinstance(given[i], torch.nn.Parameter) for i in self._positions)
        self._lock = Lock()
        self._bounds: dict[tuple[int, ...], _Bound] = {}
        values = {p.name: given[p.position] for p in held}
        self._baked = {name: _Copy.of(values[name]) for name in baked}
        self.unbound = _without_values(build, sources, values)

    def executor(self, given: Sequence[Any]) -> Executor:
        """Return the session for these values of the placeholders.

        Raises Changed for tensors that are to be inputs from now on, Outdated if the graph has to be compiled again as it is.
        """
        tensors = [given[i] for i in self._positions]
        model = tuple([id(t) for t in tensors[: self._owned]])
        bound = self._bounds.get(model)
        if bound is None:
            return self._bind(model, tensors)
        if all(copy.is_of(tensor) for copy, tensor in zip(bound.copies, tensors, strict=True)):
            return bound.executor
        pairs = zip(self._names, self._positions, bound.copies, tensors, strict=True)
        changed = [position for name, position, copy, tensor in pairs if name not in self._baked and not copy.is_of(tensor)]
        raise Changed(changed) if changed else Outdated

    def _bind(self, model: tuple[int, ...], tensors: list[torch.Tensor]) -> Executor:
        with self._lock:
            copies = [_Copy.of(tensor) for tensor in tensors]
            values = {name: copy.tensor for name, copy in zip(self._names, copies, strict=True)}
            if any(not copy.is_of(values[name]) for name, copy in self._baked.items()):
                raise Outdated
            executor = Executor(_with_values(self.unbound, values))
            while len(self._bounds) >= MAX_MODELS:
                self._bounds.pop(next(iter(self._bounds)), None)
            bounds = self._bounds
            watches = [weakref.ref(t, lambda _: bounds.pop(model, None)) for t in tensors[: self._owned]]
            bounds[model] = _Bound(executor, copies, watches)
            return executor


def _with_values(program: Program, tensors: Mapping[str, torch.Tensor]) -> Program:
    """Return the program with new parameter values that stay in the tensors' memory; prepared work that depends on none of them is kept."""
    changes = _changes(program, tensors)
    constants = program.constants.replaced(changes)
    return replace(program, constants=constants, plans=program.plans.with_constants(constants, changes))


def _changes(program: Program, tensors: Mapping[str, torch.Tensor]) -> dict[str, TensorSource]:
    values = {name: array_of(tensor, dtype_of(tensor.dtype)) for name, tensor in tensors.items() if name in program.description.parameters}
    return Derivation(program.description, program.constants, values).changes()


def _without_values(build: Build, sources: Mapping[str, TensorSource], tensors: Mapping[str, torch.Tensor]) -> Program:
    """Return the program without the tensors of the model that it was compiled for, and all that depends on them."""
    dependent = _changes(build(sources), tensors)
    kept = {key: TensorSource.of_array(source.load(), source.format) for key, source in sources.items() if key not in dependent}
    return build(kept | {key: TensorSource(sources[key].shape, sources[key].format, _absent) for key in dependent})


def _absent() -> NDArray:
    raise Error("E0901", "a tensor is read before the program is bound to a model")
