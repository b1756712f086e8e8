"""Shapes and types of what passes between stages: each process works out those of its own, and tells the next one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode
from torch.utils import _pytree as pytree

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record


@record
class Leaf:
    """A tensor that passes between stages."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    has_gradient: bool

    @staticmethod
    def of(value: Any) -> Leaf:
        """Return the shape and type of a tensor.  Raises E0801 for any other value."""
        if not isinstance(value, torch.Tensor):
            raise Error("E0801", f"a {type(value).__name__} cannot pass between stages", hint="tensors in tuples, lists and mappings can")
        return Leaf(tuple(value.shape), value.dtype, value.requires_grad)

    def zeros(self) -> torch.Tensor:
        """Return a tensor of zeros of this shape and type."""
        return torch.zeros(self.shape, dtype=self.dtype).requires_grad_(self.has_gradient)


@record
class Signature:
    """The tensors that pass between two stages, and the structure that they lie in."""

    leaves: tuple[Leaf, ...]
    structure: pytree.TreeSpec

    @staticmethod
    def of(value: Any) -> Signature:
        """Return the signature of a structure of tensors.  Raises E0801 for any other value."""
        leaves, structure = pytree.tree_flatten(value)
        return Signature(tuple(Leaf.of(leaf) for leaf in leaves), structure)

    def zeros(self) -> tuple[torch.Tensor, ...]:
        """Return a tensor of zeros for each leaf."""
        return tuple(leaf.zeros() for leaf in self.leaves)

    def text(self) -> str:
        """Return the signature as JSON."""
        rows = [[list(leaf.shape), str(leaf.dtype).removeprefix("torch."), leaf.has_gradient] for leaf in self.leaves]
        return json.dumps([rows, pytree.treespec_dumps(self.structure)])

    @staticmethod
    def read(text: str) -> Signature:
        """Return the signature that a JSON text describes."""
        rows, structure = json.loads(text)
        leaves = tuple(Leaf(tuple(shape), getattr(torch, dtype), gradient) for shape, dtype, gradient in rows)
        return Signature(leaves, pytree.treespec_loads(structure))


class Shapes:
    """A copy of a module that has shapes alone: it works out what the module gives after the parameters of that were cut."""

    def __init__(self, module: nn.Module) -> None:
        self.mode = FakeTensorMode(allow_non_fake_inputs=True)
        known: dict[int, Any] = {}
        with self.mode:
            for buffer in module.buffers():
                known[id(buffer)] = torch.empty_like(buffer, device="cpu")
            for parameter in module.parameters():
                known[id(parameter)] = nn.Parameter(torch.empty(parameter.shape, dtype=parameter.dtype), parameter.requires_grad)
        self.module = deepcopy(module, known)


@contextmanager
def buffers_kept(module: nn.Module) -> Iterator[None]:
    """Let the buffers of a module be the same tensors afterwards, with the same values."""
    before = [(inner, name, x) for inner in module.modules() for name, x in inner.named_buffers(recurse=False, remove_duplicate=False)]
    values = [x.detach().clone() for _, _, x in before]
    try:
        yield
    finally:
        with torch.no_grad():
            for (inner, name, buffer), value in zip(before, values, strict=True):
                setattr(inner, name, buffer)
                buffer.copy_(value)


def take_modes(copy: nn.Module, module: nn.Module) -> None:
    """Put all modules of a copy into the modes that those of the original are in."""
    for mine, own in zip(copy.modules(), module.modules(), strict=True):
        mine.training = own.training


def outputs_for(call: Any, inputs: Signature, named: Mapping[str, Any], *, training: bool, mode: FakeTensorMode | None = None) -> Signature:
    """Work out what a stage gives, without computing or changing anything.

    Args:
        call: takes the leaves of the inputs, and arguments by name.
        training: whether gradients are asked for.
        mode: of the tensors that `call` has; None: they are plain ones.
    Raises: E0202 where that depends on values.
    """
    with mode or FakeTensorMode(allow_non_fake_inputs=True) as mode, torch.set_grad_enabled(training):
        leaves = [mode.from_tensor(leaf) for leaf in inputs.zeros()]
        try:
            found = call(*leaves, **{name: mode.from_tensor(value) for name, value in named.items()})
        except (DataDependentOutputException, DynamicOutputShapeException) as error:
            hint = "let shapes, and what Python does, depend on shapes alone"
            raise Error("E0202", f"what a stage does depends on values of tensors: {error}", hint=hint) from error
        return Signature.of(found)


def send(signature: Signature, to: int, group: dist.ProcessGroup) -> None:
    """Send a signature to another process of the group, by its number among all."""
    payload = torch.frombuffer(bytearray(signature.text().encode()), dtype=torch.uint8)
    dist.send(torch.tensor([payload.numel()]), to, group)
    dist.send(payload, to, group)


def receive(source: int, group: dist.ProcessGroup) -> Signature:
    """Receive the signature that `send` of another process has sent."""
    size = torch.zeros(1, dtype=torch.int64)
    dist.recv(size, source, group)
    payload = torch.zeros(int(size), dtype=torch.uint8)
    dist.recv(payload, source, group)
    return Signature.read(bytes(payload.tolist()).decode())


def microbatch_of(values: Sequence[Any], microbatches: int) -> list[torch.Tensor]:
    """Return the first microbatch of tensors.  Raises E0801 for rows that do not divide."""
    found = []
    for value in values:
        if not isinstance(value, torch.Tensor) or not value.ndim:
            raise Error("E0801", "inputs and targets are tensors with rows", hint="their first dimension counts samples")
        rows = len(value)
        if not rows or rows % microbatches:
            near = max(rows // microbatches, 1) * microbatches
            raise Error("E0801", f"{rows} rows cannot be {microbatches} microbatches", hint=f"give {near} rows, or {near + microbatches}")
        found.append(value[: rows // microbatches])
    return found


def hash_of(tensors: Iterable[torch.Tensor]) -> int:
    """Return a number of the shapes and types of tensors, the same in every process."""
    number = 0
    for tensor in tensors:
        for value in (*tensor.shape, len(str(tensor.dtype)), sum(map(ord, str(tensor.dtype)))):
            number = (number * 1_000_003 + value + 1) % (1 << 40)
    return number


def hash_of_modes(module: nn.Module) -> int:
    """Return a number of the modes of a module and those inside, and of which parameters are trained: what is compiled depends on both."""
    number = 0
    for flag in (*(inner.training for inner in module.modules()), *(p.requires_grad for p in module.parameters())):
        number = (number * 3 + flag + 1) % (1 << 40)
    return number
