"""Writes the IR after every pass to a folder."""

from __future__ import annotations

from pathlib import Path

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir import print_op
from ttc.options import STAGES
from ttc.passes.base import Pass, Report, Unit, Watcher


class Dump(Watcher):
    """`DIR/02.tile/003.fuse-eltwise.mlir`: one file a pass, numbered in the order of execution; weights are named, never written.

    A pass that changed nothing leaves a link to the file before it, so that a folder of links shows at once where work was done.
    Names do not depend on anything but the pipeline: `diff -r` of two folders compares two compilations.
    """

    def __init__(self, folder: Path, first: str) -> None:
        """folder: made if it is missing.  first: the stage whose passes run first."""
        self.folder = folder
        self.stage = first
        self._number = 0
        self._last: tuple[str, Path] | None = None

    def source(self, stage: str, unit: Unit) -> None:
        """Write the IR that compilation starts from, at the end of that stage."""
        self._write(self._folder_of(stage) / "000.source.mlir", print_op(unit.module))

    def after(self, pass_: Pass, unit: Unit, report: Report) -> None:
        self._number += 1
        self._write(self._folder_of(self.stage) / f"{self._number:03}.{pass_.name}.mlir", print_op(unit.module))

    def failed(self, pass_: Pass, unit: Unit, error: BaseException) -> None:
        self._number += 1
        self._write(self._folder_of(self.stage) / f"{self._number:03}.{pass_.name}.failed.mlir", print_op(unit.module))

    def on_stage(self, stage: str, unit: Unit) -> None:
        self.stage = STAGES[min(STAGES.index(stage) + 1, len(STAGES) - 1)]
        self._number = 0

    def _folder_of(self, stage: str) -> Path:
        return self.folder / f"{STAGES.index(stage):02}.{stage}"

    def _write(self, path: Path, text: str) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            if self._last is not None and self._last[0] == text:
                path.symlink_to(Path("..") / self._last[1].parent.name / self._last[1].name)
                return
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise Error("E0103", f"cannot write {path}: {error.strerror}") from None
        self._last = (text, path)
