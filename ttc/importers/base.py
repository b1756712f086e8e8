"""Importers: from a model file to dialect nn."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ttc.dialects.core.errors import Error

if TYPE_CHECKING:
    from ttc.dialects.core.ir.values import ModuleOp
    from ttc.dialects.core.plain.weights import WeightStore
    from ttc.importers.common.facts import Facts

NO_SHAPES: Mapping[str, tuple[int, ...]] = MappingProxyType({})
NO_VALUES: Mapping[str, Any] = MappingProxyType({})

KINDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        ".onnx": ("ttc.importers.onnx", "import_onnx"),
        **dict.fromkeys((".pt2", ".pt", ".pth"), ("ttc.importers.torch.archives", "import_archive")),
        ".tflite": ("ttc.importers.tflite", "import_tflite"),
        ".keras": ("ttc.importers.tf.keras", "import_keras"),
        "/": ("ttc.importers.tf", "import_saved_model"),
    }
)
"""The module that imports files of a suffix (`/` for a folder), loaded when one is met, and its function."""


SAVED_MODEL = "saved_model.pb"
"""The file in the folder of a SavedModel that may be taken for the model."""
SUPPORTED = "supported: ONNX (.onnx), PyTorch (.pt2), TensorFlow (.tflite, .keras, folders of SavedModels)"


def import_model(
    path: Path, *, shapes: Mapping[str, tuple[int, ...]] = NO_SHAPES, batch: int | None = None, values: Mapping[str, Any] = NO_VALUES
) -> tuple[ModuleOp, WeightStore]:
    """Return the module of a model file with one entry function `forward`, and its weights.

    Args:
        path: a file whose suffix names its kind, or the folder of a SavedModel.
        shapes: full shapes of inputs, by name, for models with dynamic dimensions.
        batch: the size of every dynamic batch dimension.
        values: arrays by input name: where an op needs to know what an integer or boolean input holds, the model is made for these.
            They fix shapes, too, unless `shapes` does.
    Raises: E0102 (no such file), E0201 (of no known kind), and what the importer of its kind raises.
    """
    if not path.exists():
        raise Error("E0102", f"there is no file '{path}'")
    kind = KINDS.get("/" if path.is_dir() else path.suffix.lower())
    if kind is None and not path.is_file():
        raise Error("E0102", f"'{path}' is not a regular file")
    if kind is None:
        folder = f"give its folder: {path.parent}" if path.name == SAVED_MODEL else None
        raise Error("E0201", f"'{path.name}' is of no model kind that can be imported", hint=folder or SUPPORTED)
    module, function = kind
    shapes = {**{name: value.shape for name, value in values.items() if hasattr(value, "shape")}, **shapes}
    return getattr(import_module(module), function)(path, shapes=shapes, batch=batch, values=values)


def describe_model(path: Path) -> Facts | None:
    """Return what a model's file says of itself, without an import; None for kinds that say nothing so.  Raises as their importers do."""
    module, _ = KINDS.get("/" if path.is_dir() else path.suffix.lower(), ("", ""))
    describe = getattr(import_module(module), "describe", None) if module and path.exists() else None
    return None if describe is None else describe(path)
