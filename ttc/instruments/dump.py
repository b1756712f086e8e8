"""Writes the IR after every pass to a folder, and an index of what the passes did."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from xdsl.dialects.builtin import ModuleOp

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.ir.entries import set_module_attr
from ttc.instruments.base import PassWatcher
from ttc.options import STAGES
from ttc.passes.base import Pass, Remark, Report, Unit
from ttc.passes.pipeline_text import pass_text

INDEX = "index.json"


class Dump(PassWatcher):
    """Writes `DIR/02.tile/003.fuse-eltwise.mlir`: one file a pass, numbered in the order of execution; weights are named, never written.

    Compilation can go on from every file, except that of a pass that failed (`003.fuse-eltwise.failed.mlir`).  A pass that changed
    nothing leaves a link to the file before it, so that a folder of links shows at once where work was done.  What an earlier dump left
    in the folder goes.  Names do not depend on anything but the pipeline: `diff -r` of two folders compares two compilations.
    `DIR/index.json` is a list with a row a file: stage, number, pass with its options, ms, ops by kind before and after, whether it
    changed anything, named rewrites, remarks, and the numeric check if there was one.
    """

    compares: ClassVar[bool] = True

    def __init__(self, folder: Path) -> None:
        """folder: made if it is missing."""
        super().__init__()
        self.folder = folder
        self._rows: list[dict[str, Any]] = []
        self._ops: dict[str, int] = {}
        self._last: Path | None = None

    def on_stage(self, stage: str, unit: Unit) -> None:
        if self._last is None:
            self._clear()
            self._ops = op_kinds(unit)
            self._write(self._path(stage, self.number, "source"), print_op(unit.module) + "\n")
        super().on_stage(stage, unit)

    def after(self, pass_: Pass, unit: Unit, report: Report) -> None:
        path = self._path(self.stage, self.number, pass_.name)
        if report.changed or self._last is None:
            self._write(path, self._text(unit.module))
        else:
            self._link(path)
        self._row(pass_, path, unit, report)

    def failed(self, pass_: Pass, unit: Unit, error: BaseException) -> None:
        path = self._path(self.stage, self.number, f"{pass_.name}.failed")
        self._write(path, print_op(unit.module) + "\n")
        self._row(pass_, path, unit, Report(changed=True), str(error))

    def finish(self) -> None:
        self._write(self.folder / INDEX, index_text(self._rows))

    def _row(self, pass_: Pass, path: Path, unit: Unit, report: Report, error: str | None = None) -> None:
        before, self._ops = self._ops, op_kinds(unit) if report.changed else self._ops
        row = {
            "stage": self.stage,
            "number": self.number,
            "pass": pass_text(pass_),
            "file": f"{path.parent.name}/{path.name}",
            "ms": round(report.seconds * 1e3, 3),
            "ops_before": before,
            "ops_after": self._ops,
            "changed": bool(report.changed),
            "rewrites": dict(report.rewrites),
            "remarks": [_remark(r) for r in report.remarks],
            "numerics": report.numerics,
            "error": error,
        }
        self._rows.append({key: value for key, value in row.items() if value is not None})
        if error is not None:
            self.finish()

    def _clear(self) -> None:
        """Take away what an earlier compilation left, whose pipeline may have been another."""
        try:
            for number, stage in enumerate(STAGES):
                for path in (self.folder / f"{number:02}.{stage}").glob("[0-9][0-9][0-9].*.mlir"):
                    path.unlink()
        except OSError as error:
            raise Error("E0103", f"cannot write {self.folder}: {error.strerror}") from None

    def _text(self, module: ModuleOp) -> str:
        """Return the module, with how many passes of the stage are behind it, so that a compilation can go on from the file."""
        set_module_attr(module, "passes_done", self.number)
        text = print_op(module)
        module.attributes.pop("ttc.passes_done")
        return text + "\n"

    def _path(self, stage: str, number: int, name: str) -> Path:
        return self.folder / f"{STAGES.index(stage):02}.{stage}" / f"{number:03}.{name}.mlir"

    def _write(self, path: Path, text: str) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise Error("E0103", f"cannot write {path}: {error.strerror}") from None
        self._last = path

    def _link(self, path: Path) -> None:
        assert self._last is not None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            path.symlink_to(Path("..") / self._last.parent.name / self._last.name)
        except OSError as error:
            raise Error("E0103", f"cannot write {path}: {error.strerror}") from None


def index_text(rows: Sequence[Mapping[str, object]]) -> str:
    """Return rows as JSON with a line for each field and each remark: short, and good for `diff`."""
    return (
        "[\n" + ",\n".join(" {\n" + ",\n".join(f"  {json.dumps(k)}: {_field(k, v)}" for k, v in r.items()) + "\n }" for r in rows) + "\n]\n"
    )


def _field(name: str, value: object) -> str:
    if name != "remarks" or not isinstance(value, list) or not value:
        return json.dumps(value)
    return "[\n" + ",\n".join(f"   {json.dumps(remark)}" for remark in value) + "\n  ]"


def op_kinds(unit: Unit) -> dict[str, int]:
    """Return how many ops of each name the module holds, by name."""
    return dict(sorted(Counter(op.name for op in unit.module.walk()).items()))


def _remark(remark: Remark) -> dict[str, object]:
    return {"kind": remark.kind, "location": remark.location, "message": remark.message, "data": dict(remark.data)}
