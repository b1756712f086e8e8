"""Tensors that a program knows by several names: two buffers, or a buffer that an object which the module holds has as a field, too.

PyTorch's tracing lifts such a field as a constant beside the buffer, and its decompositions refuse to change either of two tensors that
share memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec

from ttc.importers.torch.weights import identity

_KINDS = (InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


@contextmanager
def aliases_as_one(program: ExportedProgram) -> Iterator[None]:
    """Let nodes that read a buffer or constant which is all of another buffer read that one, inside the block."""
    nodes = {node.name: node for node in program.graph.find_nodes(op="placeholder")}
    pairs = _aliases(program)
    held = [(_holder(program, alias), str(alias.target)) for alias, _ in pairs]
    tensors = [holder[target] for holder, target in held]
    readers: list[tuple[fx.Node, Any, Any]] = []
    try:
        for (alias, buffer), (holder, target), tensor in zip(pairs, held, tensors, strict=True):
            holder[target] = tensor.clone()
            for reader in list(nodes[alias.arg.name].users):
                readers.append((reader, reader.args, reader.kwargs))
                reader.replace_input_with(nodes[alias.arg.name], nodes[buffer.arg.name])
        yield
    finally:
        for reader, args, kwargs in reversed(readers):
            reader.args, reader.kwargs = args, kwargs
        for (holder, target), tensor in zip(held, tensors, strict=True):
            holder[target] = tensor


def has_aliases(program: ExportedProgram) -> bool:
    """Return whether a buffer or constant is all of another buffer."""
    return bool(_aliases(program))


def _aliases(program: ExportedProgram) -> list[tuple[InputSpec, InputSpec]]:
    """Buffers and constants, each with the earlier buffer that it is."""
    buffers: dict[tuple[object, ...], InputSpec] = {}
    found: list[tuple[InputSpec, InputSpec]] = []
    for spec in program.graph_signature.input_specs:
        tensor = _holder(program, spec).get(str(spec.target)) if spec.kind in _KINDS else None
        if not isinstance(tensor, torch.Tensor) or tensor.layout != torch.strided or not tensor.numel():
            continue
        known = buffers.get(identity(tensor))
        if known is not None:
            found.append((spec, known))
        elif spec.kind == InputKind.BUFFER:
            buffers[identity(tensor)] = spec
    return found


def _holder(program: ExportedProgram, spec: InputSpec) -> dict[str, Any]:
    """Return where the program has the tensor of an input."""
    return program.state_dict if str(spec.target) in program.state_dict else program.constants
