"""All that decides what an exported program is imported as, as text: programs with the same text give the same IR.

Values of the model's tensors are no part of it: what the import read of them it can tell (`KeptCompilation.watch`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.weights import Weight
from ttc.importers.torch.places import sources_of
from ttc.importers.torch.weights import identity, weight_of

_SPACES = ("aten", "prims", "ttc")
"""Name spaces of ops whose meaning PyTorch's version or ours determines; those of others may change from process to process."""
_MODULES = ("_operator", "builtins", "math")
"""Modules of functions in graphs whose meaning Python determines."""
_PLAIN = (bool, int, float, complex, str, torch.dtype, torch.device, torch.layout, torch.memory_format)
_MARKS = "ttc"
"""What keys of our marks among a node's own notes begin with."""


class _Unknown(Exception):
    """Something stands in the program that text does not determine."""


def fingerprint(program: ExportedProgram, name: str) -> str | None:
    """Return the text of a program of fixed shapes that is to be called by a name; None where text cannot tell all that matters."""
    if program.range_constraints:
        return None
    signature = program.graph_signature
    try:
        parts = [
            name,
            torch.__version__,
            str(torch.version.git_version),
            repr(program.call_spec),
            repr([(spec.kind, spec.arg, spec.target) for spec in signature.input_specs]),
            repr([(spec.kind, spec.arg, spec.target) for spec in signature.output_specs]),
            *_tensors(program),
            *_graph(program.graph_module, 0),
        ]
    except _Unknown:
        return None
    return json.dumps(parts)


def tensors_of(program: ExportedProgram) -> dict[str, Weight] | None:
    """Return the tensors of a program by name, as the importer makes weights of them; None if there is one that it refuses."""
    found = {str(s.target): tensor_of(program, str(s.target)) for s in program.graph_signature.input_specs if _is_tensor(s.kind)}
    try:
        return {name: weight_of(tensor, name) for name, tensor in found.items() if tensor is not None}
    except Error:
        return None


def _is_tensor(kind: InputKind) -> bool:
    return kind in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


def tensor_of(program: ExportedProgram, name: str) -> torch.Tensor | None:
    """Return the tensor of a program's state or of its constants; None for another constant."""
    found = program.state_dict.get(name, program.constants.get(name))
    return found if isinstance(found, torch.Tensor) else None


def _tensors(program: ExportedProgram) -> Iterator[str]:
    """Yield what decides of each tensor of the model but its value: the first that is the same or shares its memory, and its type."""
    firsts: dict[tuple[object, ...], str] = {}
    for spec in program.graph_signature.input_specs:
        if spec.kind in (InputKind.USER_INPUT, InputKind.TOKEN):
            continue
        if not _is_tensor(spec.kind):
            raise _Unknown
        name, tensor = str(spec.target), tensor_of(program, str(spec.target))
        if tensor is None or tensor.layout != torch.strided or tensor.device.type != "cpu":
            raise _Unknown
        first = firsts.setdefault(identity(tensor), name) if tensor.numel() else name
        storage = firsts.setdefault((tensor.untyped_storage().data_ptr(),), name) if tensor.numel() else name
        yield f"{name} is {first} in {storage}: {_of(tensor)} {tensor.requires_grad}"


def _graph(module: fx.GraphModule, depth: int) -> Iterator[str]:
    """Yield the nodes of a graph, and of those that it calls."""
    for node in module.graph.nodes:
        if node.op == "get_attr":
            inner: Any = module
            for part in str(node.target).split("."):
                inner = getattr(inner, part)
            if not isinstance(inner, fx.GraphModule) or depth > 32:
                raise _Unknown
            yield f"{node.name}: {node.target}("
            yield from _graph(inner, depth + 1)
            yield ")"
            continue
        yield f"{node.op} {node.name} {_target(node)} {_of(node.args)} {_of(node.kwargs)}"
        yield _of(node.meta.get("val", node.meta.get("example_value")))
        yield _of([*sources_of(node), {key: note for key, note in node.meta.get("custom", {}).items() if str(key).startswith(_MARKS)}])


def _target(node: fx.Node) -> str:
    target: Any = node.target
    if isinstance(target, str) and node.op in ("placeholder", "output"):
        return target
    if isinstance(target, torch._ops.OpOverload) and target.namespace in _SPACES:
        return str(target)
    if isinstance(target, torch._ops.HigherOrderOperator):
        return f"higher_order.{target.name()}"
    if not isinstance(target, str) and getattr(target, "__module__", None) in _MODULES:
        return f"{target.__module__}.{target.__qualname__}"
    raise _Unknown


def _of(value: Any) -> str:
    """Return an argument, a type or a note of a node as text."""
    if value is None or isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, fx.Node):
        return f"%{value.name}"
    if isinstance(value, torch.Tensor):
        sizes: Sequence[Any] = (*value.shape, *value.stride()) if value.layout == torch.strided else (None,)
        if any(type(size) is not int for size in sizes):
            raise _Unknown
        return f"{value.dtype} {sizes} {value.device}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_of, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_of(key)}: {_of(item)}' for key, item in value.items())}}}"
    if isinstance(value, slice):
        return f"slice({_of(value.start)}, {_of(value.stop)}, {_of(value.step)})"
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    raise _Unknown
