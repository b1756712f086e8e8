"""The text of a generator's programs that its archive holds, for archives that are written from it."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

from ttc.runtime.archive import NN_TEXT


def archived_text(path: Path) -> str | None:
    """Return the text of stage nn in an archive that was loaded, and so verified; None if it holds none."""
    name = f"debug/{NN_TEXT}"
    with ZipFile(path) as archive:
        return archive.read(name).decode() if name in archive.namelist() else None
