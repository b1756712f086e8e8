"""The PyTorch importer: maps programs of torch.export, and graphs of AOTAutograd, one aten op after the other.

A module is exported (exported), ops without a mapping are decomposed into those that have one (decompositions), parameters and buffers
become leaves that share memory with the module (weights), and each node is mapped to dialect nn (walk, tables, the ops_* modules).  What
cannot be mapped is reported in one table.

The package itself does not load torch: it is an optional extra, and only what is used needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ttc.dialects.core.errors import Error
from ttc.importers.base import NO_SHAPES

if TYPE_CHECKING:
    from ttc.dialects.core.ir.values import ModuleOp
    from ttc.dialects.core.plain.weights import WeightStore


def require_torch() -> None:
    """Raises E0104 where PyTorch is not installed."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise Error("E0104", "PyTorch models need PyTorch, which is not installed", hint="pip install 'ttc[torch]'") from None


def import_exported(
    program: Any, name: str = "model", *, shapes: Mapping[str, tuple[int, ...]] = NO_SHAPES, batch: int | None = None
) -> tuple[ModuleOp, WeightStore]:
    """Import a `torch.export.ExportedProgram`; see `exported.import_exported`."""
    require_torch()
    from ttc.importers.torch.exported import import_exported as run

    return run(program, name, shapes=shapes, batch=batch)


def import_module(module: Any, example_inputs: Any, **settings: Any) -> tuple[ModuleOp, WeightStore]:
    """Import a `torch.nn.Module`; see `exported.import_module`."""
    require_torch()
    from ttc.importers.torch.exported import import_module as run

    return run(module, example_inputs, **settings)


def import_object(
    model: Any,
    example_inputs: Any = None,
    dynamic_shapes: Any = None,
    *,
    shapes: Mapping[str, tuple[int, ...]] = NO_SHAPES,
    batch: int | None = None,
) -> tuple[ModuleOp, WeightStore]:
    """Import a module, or a program of torch.export, which takes examples for sizes and values.

    Raises: E0101 if a module's example inputs are missing, E0201 for another object, and E02xx.
    """
    require_torch()
    import torch

    if isinstance(model, torch.export.ExportedProgram):
        if dynamic_shapes is not None:
            raise Error("E0101", "dynamic_shapes goes with a module; an exported program has its own")
        from ttc.importers.torch.exported import import_exported, matching

        examples = None if example_inputs is None else matching(model, example_inputs)
        return import_exported(model, shapes=shapes, batch=batch, examples=examples)
    if not isinstance(model, torch.nn.Module):
        raise Error("E0201", f"cannot compile a {type(model).__name__}", hint="give a torch.nn.Module or a torch.export.ExportedProgram")
    if example_inputs is None:
        raise Error("E0101", f"{type(model).__name__} needs example inputs: torch.export traces a call", hint="ttc.compile(module, (x,))")
    return import_module(model, example_inputs, dynamic_shapes=dynamic_shapes, shapes=shapes, batch=batch)
