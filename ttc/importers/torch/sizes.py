"""Static shapes of an exported program's inputs: symbols of dynamic dimensions get the sizes that the user gave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, TensorArgument
from torch.utils import _pytree as pytree

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.spec import Spec
from ttc.importers.common.inputs import input_specs
from ttc.importers.common.open_input import OpenInput
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.dtypes import dtype_of

MAX_SIZE = 1 << 40
"""The size that stands for no upper limit."""


def static_specs(program: ExportedProgram, shapes: Mapping[str, tuple[int, ...]], batch: int | None, examples: Any) -> dict[str, Spec]:
    """Return the type of each of the program's tensor inputs by name.

    Args:
        shapes, batch: as in `input_specs`.
        examples: positional and keyword arguments whose sizes hold where shapes and batch leave one open.
    Raises: E0202, E0205, E0206 (sizes that contradict each other, or that the program was not exported for).
    """
    fakes = _fakes(program)
    inputs = [_open(name, fake) for name, fake in fakes.items()]
    sizes = _given(inputs, shapes, batch, _example_shapes(program, examples))
    limits = _limits(program)
    fixed = [
        OpenInput(i.name, tuple(_settled(d, i.name, fakes[i.name], n, sizes) for n, d in enumerate(i.dims)), i.dtype, limits)
        for i in inputs
    ]
    settled = any(i.dims and isinstance(i.dims[0], str) for i in inputs)  # by the batch, where that was given
    specs = input_specs(fixed, shapes, None if settled else batch)
    _require_in_range(limits, sizes)
    return specs


def _fakes(program: ExportedProgram) -> dict[str, torch.Tensor]:
    """Return what tracing knew of each of the user's inputs that is a tensor."""
    wanted = {
        s.arg.name for s in program.graph_signature.input_specs if s.kind == InputKind.USER_INPUT and isinstance(s.arg, TensorArgument)
    }
    return {n.name: n.meta["val"] for n in program.graph.nodes if n.op == "placeholder" and n.name in wanted}


def _open(name: str, fake: torch.Tensor) -> OpenInput:
    try:
        dtype = dtype_of(fake.dtype)
    except Unsupported as reason:
        raise Error("E0202", f"input '{name}': {reason} are not supported") from None
    return OpenInput(name, tuple(d if type(d) is int else str(d) for d in fake.shape), dtype)


def user_inputs(program: ExportedProgram) -> list[str]:
    """Return names of the user's inputs in order, plain values included."""
    return [s.arg.name for s in program.graph_signature.input_specs if s.kind == InputKind.USER_INPUT]


def _example_shapes(program: ExportedProgram, examples: Any) -> dict[str, tuple[int, ...]]:
    if examples is None:
        return {}
    named = zip(user_inputs(program), pytree.tree_leaves(examples), strict=True)
    return {name: tuple(x.shape) for name, x in named if isinstance(x, torch.Tensor)}


def _given(
    inputs: list[OpenInput], shapes: Mapping[str, tuple[int, ...]], batch: int | None, examples: Mapping[str, tuple[int, ...]]
) -> dict[str, int]:
    """Return sizes by symbol.  Raises E0206 where two inputs disagree."""
    sizes: dict[str, int] = {}
    for item in inputs:
        shape = shapes.get(item.name, ())
        for dim, size in zip(item.dims, shape, strict=False):
            if isinstance(dim, str) and sizes.setdefault(dim, size) != size:
                raise Error("E0206", f"dimension {dim} cannot be {sizes[dim]} and {size}, as for input '{item.name}'")
    for item in inputs:
        if batch is not None and item.dims and isinstance(item.dims[0], str):
            sizes.setdefault(item.dims[0], batch)
    for item in inputs:
        for dim, size in zip(item.dims, examples.get(item.name, ()), strict=False):
            if isinstance(dim, str):
                sizes.setdefault(dim, size)
    return sizes


def _settled(dim: int | str, name: str, fake: torch.Tensor, axis: int, sizes: Mapping[str, int]) -> int | str:
    """Return a dimension whose symbols all have sizes as a number.  Raises E0206 where an expression gets another size than was given."""
    if isinstance(dim, int):
        return dim
    symbolic: Any = fake.shape[axis]
    expression = symbolic.node.expr
    value = expression.subs({s: sizes[str(s)] for s in expression.free_symbols if str(s) in sizes})
    if not value.is_Integer:
        return sizes.get(dim, dim)
    if sizes.get(dim, int(value)) != int(value):
        raise Error("E0206", f"dimension {axis} of input '{name}' is {dim} = {value}, not {sizes[dim]}")
    return int(value)


def _limits(program: ExportedProgram) -> dict[str, tuple[int, int]]:
    """The sizes that each symbol may stand for."""
    found = program.range_constraints.items()
    return {str(symbol): (_bounded(allowed.lower), _bounded(allowed.upper)) for symbol, allowed in found}


def _bounded(limit: Any) -> int:
    return int(limit) if getattr(limit, "is_Integer", False) else MAX_SIZE


def _require_in_range(limits: Mapping[str, tuple[int, int]], sizes: Mapping[str, int]) -> None:
    for symbol, (least, largest) in limits.items():
        size = sizes.get(symbol, least)
        if not least <= size <= largest:
            raise Error("E0206", f"the model was exported for sizes {least} to {largest} of {symbol}, not {size}")
