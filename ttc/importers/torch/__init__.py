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
from ttc.dialects.core.records import record
from ttc.importers.base import NO_SHAPES

if TYPE_CHECKING:
    from ttc.dialects.core.ir.values import ModuleOp
    from ttc.dialects.core.plain.weights import WeightStore


@record
class ToImport:
    """A program of torch.export that is to be imported.

    Args:
        name: of the model.
        examples: positional and keyword arguments as the program takes them; None: there are none.
    """

    program: Any
    name: str
    examples: Any


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
    """Import a module, or a program of torch.export, which takes examples for sizes and values.  Raises as `export_object`, and E02xx."""
    return import_program(export_object(model, example_inputs, dynamic_shapes), shapes=shapes, batch=batch)


def export_object(model: Any, example_inputs: Any = None, dynamic_shapes: Any = None) -> ToImport:
    """Return a module, or a program of torch.export, as a program to be imported.

    Raises: E0101 if a module's example inputs are missing, E0201 for another object, and E02xx.
    """
    require_torch()
    import torch

    if isinstance(model, torch.export.ExportedProgram):
        if dynamic_shapes is not None:
            raise Error("E0101", "dynamic_shapes goes with a module; an exported program has its own")
        from ttc.importers.torch.exported import matching

        return ToImport(model, "model", None if example_inputs is None else matching(model, example_inputs))
    if not isinstance(model, torch.nn.Module):
        raise Error("E0201", f"cannot compile a {type(model).__name__}", hint="give a torch.nn.Module or a torch.export.ExportedProgram")
    if example_inputs is None:
        raise Error("E0101", f"{type(model).__name__} needs example inputs: torch.export traces a call", hint="ttc.compile(module, (x,))")
    from ttc.importers.torch.exporting import export_module

    program = export_module(model, example_inputs, dynamic_shapes)
    return ToImport(program, type(model).__name__, program.example_inputs)


def import_program(
    given: ToImport, *, shapes: Mapping[str, tuple[int, ...]] = NO_SHAPES, batch: int | None = None
) -> tuple[ModuleOp, WeightStore]:
    """Import what `export_object` gave.  Raises E02xx."""
    from ttc.importers.torch.exported import import_exported

    return import_exported(given.program, given.name, shapes=shapes, batch=batch, examples=given.examples)
