"""Dumps as a page reads them, whole, unfinished and hostile."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.ttc.view.conftest import Compiled
from ttc.dialects.core.errors import Error
from ttc.view import dumped_passes
from ttc.view.dumped_passes import DumpedPasses


@pytest.fixture
def dump(compiled: Compiled, tmp_path: Path) -> Path:
    return Path(shutil.copytree(compiled.dump, tmp_path / "dump", symlinks=True))


def test_passes_share_the_texts_that_they_leave_alone(dump: Path) -> None:
    found = DumpedPasses(dump)
    changed = [row for row in found.passes if row["changed"]]
    assert len(found.texts) == len({row["text"] for row in found.passes}) <= len(changed) + 1
    assert set(found.last) == {"import", "nn", "tile", "netlist"}
    before = 0
    for row in found.passes:
        assert row["changed"] or row["text"] == before
        before = row["text"]


def test_a_dump_that_has_no_index_yet(dump: Path) -> None:
    whole = DumpedPasses(dump)
    (dump / "index.json").unlink()
    shutil.rmtree(dump / "03.netlist")
    found = DumpedPasses(dump)
    assert [row["name"] for row in found.passes] == [row["name"].partition("{")[0] for row in whole.passes if row["stage"] != "netlist"]
    assert "netlist" not in found.last


def test_no_dump(tmp_path: Path) -> None:
    with pytest.raises(Error, match="E0102"):
        DumpedPasses(tmp_path)


@pytest.mark.parametrize(
    "row",
    [
        {"stage": "nn", "pass": "p", "file": "../../etc/passwd"},
        {"stage": "nn", "pass": "p", "file": "/etc/passwd"},
        {"stage": "nn", "pass": "p", "file": "01.nn/link.mlir"},
        {"stage": "nowhere", "pass": "p", "file": "01.nn/001.keep-sources.mlir"},
        {"stage": "nn", "file": "01.nn/001.keep-sources.mlir"},
        {"stage": "nn", "pass": 7, "file": "01.nn/001.keep-sources.mlir"},
        {"stage": "nn", "pass": "p", "file": "01.nn/none.mlir"},
    ],
)
def test_a_hostile_index(dump: Path, tmp_path: Path, row: dict[str, Any]) -> None:
    (tmp_path / "secret.mlir").write_text("secret")
    (dump / "01.nn" / "link.mlir").symlink_to(tmp_path / "secret.mlir")
    (dump / "index.json").write_text(json.dumps([row]))
    with pytest.raises(Error, match="E0301|E0102"):
        DumpedPasses(dump)


def test_fields_of_wrong_kinds_are_passed_over(dump: Path) -> None:
    rows = json.loads((dump / "index.json").read_text())
    rows[0] |= {"ms": "fast", "ops_before": [1], "rewrites": {"a": "b"}, "remarks": ["no"], "number": True}
    (dump / "index.json").write_text(json.dumps(rows))
    first = DumpedPasses(dump).passes[1]
    assert (first["ms"], first["before"], first["rewrites"], first["remarks"], first["number"]) == (0, {}, {}, [], 0)


def test_a_dump_that_is_too_large(dump: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dumped_passes, "MAX_DUMP_BYTES", 1000)
    with pytest.raises(Error, match="E0301"):
        DumpedPasses(dump)
