"""From a module to an exported program, by torch.export; nothing of the compiler is loaded for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from ttc.importers.torch.tracing import tracing
from ttc.marks.stages import tracing_stages


def export_module(module: torch.nn.Module, example_inputs: Any, dynamic_shapes: Any = None) -> ExportedProgram:
    """Export a module as it is, its training mode included.  Raises E0202 where torch.export cannot."""
    args, kwargs = arguments_of(example_inputs)
    with tracing("E0202", f"torch.export cannot export {type(module).__name__}"), tracing_stages():
        return torch.export.export(module, args, kwargs, dynamic_shapes=dynamic_shapes, strict=False)


def arguments_of(example_inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return positional and keyword arguments of a call, arrays as tensors."""
    found = pytree.tree_map(lambda x: torch.as_tensor(x) if type(x).__module__ == "numpy" else x, example_inputs)
    if isinstance(found, Mapping):
        return (), dict(found)
    return (tuple(found), {}) if isinstance(found, tuple | list) else ((found,), {})
