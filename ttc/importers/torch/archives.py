"""Files of PyTorch: which kind one is, told without PyTorch; only archives of torch.export are imported."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ttc.dialects.core.errors import Error
from ttc.importers.base import NO_SHAPES, NO_VALUES
from ttc.importers.common.module import naming
from ttc.importers.common.zipped import Zipped, open_zipped
from ttc.importers.torch import require_torch

if TYPE_CHECKING:
    from ttc.dialects.core.ir.values import ModuleOp
    from ttc.dialects.core.plain.weights import WeightStore

_EXPORT = "export it: torch.export.save(torch.export.export(module, example_inputs), 'model.pt2')"
_VERSIONS = (b"0", b"1")


def import_archive(
    path: Path,
    *,
    shapes: Mapping[str, tuple[int, ...]] = NO_SHAPES,
    batch: int | None = None,
    values: Mapping[str, Any] = NO_VALUES,
) -> tuple[ModuleOp, WeightStore]:
    """Import a `.pt2` archive of torch.export.save: its weights stay in the file until they are read, and nothing of it is run.

    Args:
        shapes, batch, values: as in `import_model`; names are those of the program's inputs.
    Raises: E0102, E0104 (no PyTorch), E0201 (pickled files, TorchScript and others), E0202, E0203, E0205, E0206, E04xx.
    """
    with naming(path.name):
        archive, root = _open(path)
        require_torch()
        from ttc.importers.torch.exported import import_exported
        from ttc.importers.torch.pt2 import read_program

        return import_exported(read_program(archive, root), path.stem, shapes=shapes, batch=batch, values=values)


def _open(path: Path) -> tuple[Zipped, str]:
    """Return the archive, and its folder with a slash.  Raises E0201, E0202, E0203."""
    with path.open("rb") as file:
        start = file.read(2)
    if start[:1] == b"\x80":
        raise Error("E0201", "a pickle, which could run anything when it is loaded: it is not read", hint=_EXPORT)
    archive = open_zipped(path, "a .pt2 archive")
    if "serialized_exported_program.json" in archive.members:
        again = "save it again with PyTorch 2.9 or later: torch.export.save(torch.export.load(old), 'new.pt2')"
        raise Error("E0202", "an exported program as PyTorch before 2.8 saved it, with pickled weights", hint=again)
    roots = {name.partition("/")[0] for name in archive.members}
    root = f"{roots.pop()}/" if len(roots) == 1 else ""
    names = {name.removeprefix(root) for name in archive.members}
    if "data.pkl" in names and any(name.startswith("code/") for name in names):
        raise Error("E0201", "a TorchScript archive, which holds pickles and a program of its own: it is not read", hint=_EXPORT)
    if "data.pkl" in names:
        raise Error("E0201", "pickled tensors or a pickled module (torch.save), which could run anything when loaded", hint=_EXPORT)
    if not root or f"{root}archive_format" not in archive.members or archive.read(f"{root}archive_format", 64) != b"pt2":
        raise Error("E0201", "not a .pt2 archive of torch.export.save")
    if archive.read(f"{root}archive_version", 64) not in _VERSIONS or archive.read(f"{root}byteorder", 64) != b"little":
        raise Error("E0201", "a .pt2 archive of another version, or of a big-endian machine")
    return archive, root
