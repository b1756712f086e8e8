"""The folder that `ttc compile --dump` wrote: what each pass did, and the IR after those that changed it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ttc.comparison.diff import index_of
from ttc.compiler.source import read_text
from ttc.dialects.core.errors import Error
from ttc.inputs.files import require_input
from ttc.instruments.dump import INDEX
from ttc.options import STAGES
from ttc.view.texts import all_clipped, clipped

SOURCE = "00.import/000.source.mlir"
"""The file of a dump that holds the imported model."""
MAX_DUMP_BYTES = 1 << 28
"""The most bytes of IR text that a page takes."""
MAX_FILES = 10_000
"""The most files of a dump that are looked at."""
_FILE = re.compile(r"[0-9]{3,6}\.([a-z0-9.-]{1,80})\.mlir")


class DumpedPasses:
    """The content of a dump, in the order of the passes.

    Args:
        passes: a row each: stage, pass, milliseconds, whether it changed anything, numbers of ops by kind before and after, named
            rewrites, remarks, and `text`, the place of the IR after it in `texts`.
        texts: IR after passes that changed it.
        last: the last file of each stage.
    """

    def __init__(self, folder: Path) -> None:
        """Read a dump, also one that is still being written.  Raises E0102, E0301 for what is none or is too large."""
        self.folder = folder
        self.passes: list[dict[str, Any]] = []
        self.texts: list[str] = []
        self.last: dict[str, Path] = {}
        self._numbers: dict[Path, int] = {}
        self._bytes = 0
        rows = index_of(folder) if (folder / INDEX).exists() else _rows_so_far(folder)
        if (folder / SOURCE).exists():
            self._take({"stage": "import", "number": 0, "pass": "source", "file": SOURCE, "changed": True})
        for row in rows[:MAX_FILES]:
            self._take(row)

    def _take(self, row: dict[str, Any]) -> None:
        """Raises E0301 for a row that is not what a dump writes."""
        stage, file = row.get("stage"), row.get("file")
        if stage not in STAGES or not isinstance(file, str) or not isinstance(row.get("pass"), str):
            raise Error("E0301", "not an index of a dump: a row lacks its stage, pass or file", where=str(self.folder / INDEX))
        path = require_input(self.folder / file).resolve()
        self._require_inside(path)
        if not path.name.endswith(".failed.mlir"):
            self.last[stage] = path
        self.passes.append(
            {
                "stage": stage,
                "number": _number(row.get("number")),
                "name": clipped(row["pass"]),
                "ms": _number(row.get("ms")),
                "changed": bool(row.get("changed")),
                "before": _counts(row.get("ops_before")),
                "after": _counts(row.get("ops_after")),
                "rewrites": _counts(row.get("rewrites")),
                "remarks": [_remark(remark) for remark in row.get("remarks") or () if isinstance(remark, dict)],
                "error": None if row.get("error") is None else clipped(row["error"]),
                "text": self._text(path),
            }
        )

    def _require_inside(self, path: Path) -> None:
        if not path.is_relative_to(self.folder.resolve()):
            raise Error("E0301", "a file of the dump lies outside of its folder", where=str(path))

    def _text(self, path: Path) -> int:
        if path not in self._numbers:
            text = read_text(path)
            self._bytes += len(text)
            if self._bytes > MAX_DUMP_BYTES:
                raise Error("E0301", f"the dump has more than {MAX_DUMP_BYTES >> 20} MB of IR", where=str(self.folder))
            self._numbers[path] = len(self.texts)
            self.texts.append(text)
        return self._numbers[path]


def _rows_so_far(folder: Path) -> list[dict[str, Any]]:
    """Return a row for each file of a dump that has no index yet.  Raises E0102 if there is no file."""
    rows: list[dict[str, Any]] = []
    before: Path | None = None
    for number, stage in enumerate(STAGES):
        for path in sorted((folder / f"{number:02}.{stage}").glob("[0-9][0-9][0-9]*.mlir"))[:MAX_FILES]:
            name = _FILE.fullmatch(path.name)
            if name is None or name[1] == "source":
                continue
            row = {"stage": stage, "number": int(path.name.partition(".")[0]), "pass": name[1], "file": f"{path.parent.name}/{path.name}"}
            rows.append({**row, "changed": path.resolve() != before and not path.is_symlink()})
            before = path.resolve()
    if not rows and not (folder / SOURCE).exists():
        raise Error("E0102", f"{folder} holds no dump", hint="ttc compile MODEL --dump DIR writes one")
    return rows


def _number(value: object) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0


def _counts(value: object) -> dict[str, int]:
    return {clipped(k): v for k, v in value.items() if isinstance(v, int)} if isinstance(value, dict) else {}


def _remark(remark: dict[str, Any]) -> dict[str, Any]:
    places = remark.get("location")
    sources = all_clipped(places if isinstance(places, list) else [places] if isinstance(places, str) else [])
    return {"kind": clipped(remark.get("kind", "")), "sources": sources, "message": clipped(remark.get("message", ""))}
