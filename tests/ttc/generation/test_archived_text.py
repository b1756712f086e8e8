"""Archives that are written from archives."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

from ttc.generation.archived_text import archived_text


def test_a_text_and_none(tmp_path: Path) -> None:
    for name, member, wanted in (("a", "debug/nn.mlir", "builtin.module {}\n"), ("b", "debug/tile.mlir", None)):
        with ZipFile(tmp_path / name, "w") as archive:
            archive.writestr(member, "builtin.module {}\n")
        assert archived_text(tmp_path / name) == wanted
