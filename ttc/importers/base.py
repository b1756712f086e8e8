"""Importers: from a model file to dialect nn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from ttc.dialects.core.errors import Error

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ttc.dialects.core.weights import WeightStore

NO_SHAPES: Mapping[str, tuple[int, ...]] = MappingProxyType({})


def import_model(
    path: Path, *, shapes: Mapping[str, tuple[int, ...]] = NO_SHAPES, batch: int | None = None
) -> tuple[ModuleOp, WeightStore]:
    """The module of a model file with one entry function `forward`, and its weights.

    Args:
        path: a file whose suffix names its kind: `.onnx`.
        shapes: full shapes of inputs, by name, for models with dynamic dimensions.
        batch: the size of every dynamic batch dimension.
    Raises: E0102 (no such file), E0201 (of no known kind), and what the importer of its kind raises.
    """
    if not path.exists():
        raise Error("E0102", f"there is no file '{path}'")
    if not path.is_file():
        raise Error("E0102", f"'{path}' is not a regular file")
    if path.suffix.lower() != ".onnx":
        raise Error("E0201", f"'{path.name}' is of no model kind that can be imported", hint="supported: ONNX models (.onnx)")
    from ttc.importers.onnx import import_onnx

    return import_onnx(path, shapes=shapes, batch=batch)
