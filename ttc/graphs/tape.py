"""Notes the ops that PyTorch dispatches in a thread, with the memory that they read and write, while they run."""

from __future__ import annotations

import math
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record

aten = torch.ops.aten
_READS = {
    aten._local_scalar_dense.default: "reads a number from a tensor (item, bool, float, int)",
    aten.equal.default: "compares values of tensors",
}
"""Ops that give Python what a tensor holds."""
_METHODS = {
    torch.Tensor.tolist: "reads numbers from a tensor (tolist)",
    torch.Tensor.numpy: "gives the memory of a tensor away (numpy)",
    torch.Tensor.__array__: "gives the memory of a tensor away (numpy)",
}
"""Functions that do so without an op."""
_MOVING = frozenset(("aten::set_", "aten::resize_", "aten::resize_as_", "aten::_resize_output_"))
"""Ops that give a tensor other memory."""
_TORCH = str(Path(torch.__file__).parent)
_OURS = str(Path(__file__).parent)


class Footprint(NamedTuple):
    """Memory of a tensor: two tensors of one place are the same to a graph.

    storage: a number of the storage; offset, size, stride: in elements.
    """

    storage: int
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: torch.dtype

    @property
    def end(self) -> int:
        """The element behind the last."""
        return self.offset + sum((n - 1) * s for n, s in zip(self.size, self.stride, strict=True)) + 1 if all(self.size) else self.offset

    def covers(self, other: Footprint) -> bool:
        """Return whether the other place can be a view of this one, which has all elements between its first and its last."""
        dense = math.prod(self.size) == self.end - self.offset
        return dense and self.dtype == other.dtype and self.offset <= other.offset and other.end <= self.end


@record
class TapedOp:
    """An op that ran while it was noted.

    Args:
        op: that PyTorch dispatched.
        arguments: flat; tensors as their places.
        spec: of the arguments: how positional ones and keywords nest.
        results: places of the tensors among its results; None for others.
    """

    op: Any
    arguments: Sequence[Any]
    spec: pytree.TreeSpec
    results: Sequence[Footprint | None]


class Tape(TorchDispatchMode):
    """What ran while it was on; it is on for the thread that enters it."""

    expands_graphs: ClassVar[bool] = True
    """Compiled graphs run op by op meanwhile, so that they are noted."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[TapedOp] = []
        self.storages: dict[int, torch.UntypedStorage] = {}
        """Storages that were seen, which live at least as long as the tape: no two have one number."""
        self.made: set[int] = set()
        """Storages that ops on the tape have made."""
        self.written: set[int] = set()
        """Storages that ops on the tape have written into, but for those where they made them."""
        self.read: dict[Footprint, bool] = {}
        """Places outside that ops read, in order, and whether they are parameters of modules."""
        self.bases: dict[int, Footprint] = {}
        """The first place of each storage."""
        self._given: set[Footprint] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an op, and note it.  Raises E0814 for one whose results no graph can give."""
        del types
        kwargs = kwargs or {}
        if func.namespace == "profiler":  # regions of PyTorch's own, which compute nothing
            return func(*args, **kwargs)
        _check(func, args)
        func = _declared(func, args)
        flat, spec = pytree.tree_flatten((args, kwargs))
        arguments = [self._read(value) if isinstance(value, torch.Tensor) else value for value in flat]
        results = func(*args, **kwargs)
        for tensor in _written(func, args, kwargs):
            self.written.add(self._place(tensor).storage)
        found = pytree.tree_leaves(results)
        self.steps.append(TapedOp(func, arguments, spec, [self._made(x) if isinstance(x, torch.Tensor) else None for x in found]))
        return results

    def _read(self, tensor: torch.Tensor) -> Footprint:
        place = self._place(tensor)
        base = self.bases.setdefault(place.storage, place)
        if place not in self._given and (base == place or place.storage not in self.made and not base.covers(place)):
            self.read.setdefault(place, isinstance(tensor, torch.nn.Parameter))
        return place

    def _made(self, tensor: torch.Tensor) -> Footprint:
        known = len(self.storages)
        place = self._place(tensor)
        if len(self.storages) > known:
            self.made.add(place.storage)
        self.bases.setdefault(place.storage, place)
        self._given.add(place)
        return place

    def _place(self, tensor: torch.Tensor) -> Footprint:
        if tensor.layout != torch.strided or tensor.device.type != "cpu" or tensor.is_conj() or tensor.is_neg() or tensor.is_quantized:
            raise refusal(f"a tensor is no plain one of the CPU ({tensor.layout}, {tensor.device})")
        storage = tensor.untyped_storage()
        self.storages.setdefault(storage._cdata, storage)
        return Footprint(storage._cdata, int(tensor.storage_offset()), tuple(tensor.size()), tensor.stride(), tensor.dtype)


def _addcdiv(x: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, value: torch.Tensor) -> torch.Tensor:
    return x.add_(a / b * value)


def _addcmul(x: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, value: torch.Tensor) -> torch.Tensor:
    return x.add_(a * b * value)


def _add(x: torch.Tensor, other: torch.Tensor, *, alpha: torch.Tensor) -> torch.Tensor:
    return x.add_(other * alpha)


_FACTORS = {
    torch.Tensor.addcdiv_: ("value", _addcdiv),
    torch.Tensor.addcmul_: ("value", _addcmul),
    torch.Tensor.add_: ("alpha", _add),
}
"""Functions that take a number where optimizers give a tensor, which depends on the count of steps; and what does the same with that."""


class ReadGuard(TorchFunctionMode):
    """Refuses functions that read tensors without an op, and keeps factors that are tensors from being read."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function.  Raises E0814 for one that gives Python what a tensor holds."""
        kwargs = kwargs or {}
        if (why := _METHODS.get(func)) is not None:
            raise refusal(f"the program {why}")
        name, instead = _FACTORS.get(func, ("", func))
        return (instead if isinstance(kwargs.get(name), torch.Tensor) else func)(*args, **kwargs)


def refusal(message: str) -> Error:
    """Make the error for something that the user's program does and no graph can: E0814, at the line that does it."""
    hint = "a graph does the same at each replay: leave what depends on data out of it, and capture what lies before and behind"
    return Error("E0814", message, where=_line(), hint=hint)


def _check(func: Any, args: Sequence[Any]) -> None:
    if (why := _READS.get(func)) is not None:
        raise refusal(f"the program {why}")
    name = func._schema.name
    if name in _MOVING:
        raise refusal(f"{name} gives a tensor other memory")
    if func is aten.index.Tensor or func is aten.index_put_.default or func is aten.index_put.default:
        if func is aten.index.Tensor and any(i is not None and i.dtype in (torch.bool, torch.uint8) for i in args[1]):
            raise refusal(f"{name} by a mask gives as many results as the data says")
        return
    if torch.Tag.dynamic_output_shape in func.tags or torch.Tag.data_dependent_output in func.tags:
        raise refusal(f"{name} gives as many results as the data says")


def _declared(func: Any, args: Sequence[Any]) -> Any:
    """Return the op itself; for a batch norm that trains, the one which says that it writes its running statistics."""
    if func is aten.native_batch_norm.default and args[3] is not None and args[5]:
        return aten._native_batch_norm_legit.default
    return func


def _written(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[torch.Tensor]:
    """Yield the tensors among the arguments that the op writes into."""
    for number, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = args[number] if number < len(args) else kwargs.get(argument.name)
            yield from (leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor))


def _line() -> str | None:
    """Return the innermost line of the program that is neither PyTorch's nor ours."""
    for frame in reversed(traceback.extract_stack()):
        if not frame.filename.startswith((_TORCH, _OURS, "<")):
            return f"{frame.filename}:{frame.lineno}"
    return None
