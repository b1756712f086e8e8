"""The dump of every pass."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir import print_op
from ttc.dialects.core.parsing import parse_module
from ttc.dialects.nn.base import dialect
from ttc.instruments.dump import Dump
from ttc.passes.base import Pass, Unit
from ttc.passes.manager import run_passes, run_stage


def test_one_file_a_pass(unit: Unit, passes: dict[str, Pass], tmp_path: Path) -> None:
    dump = Dump(tmp_path / "d")
    dump.on_stage("import", unit)
    run_stage("nn", [passes["nothing"], passes["mark"]], unit, [dump])
    run_stage("tile", [passes["nothing"]], unit, [dump])
    files = sorted(str(path.relative_to(tmp_path / "d")) for path in (tmp_path / "d").rglob("*.mlir"))
    assert files == ["00.import/000.source.mlir", "01.nn/001.nothing.mlir", "01.nn/002.mark.mlir", "02.tile/001.nothing.mlir"]
    links = {name: (tmp_path / "d" / name).is_symlink() for name in files}
    assert links == dict(zip(files, [False, True, False, True], strict=True))
    last = (tmp_path / "d" / files[2]).read_text()
    assert print_op(parse_module(last, "dump", [dialect])) == last


def test_the_index_says_what_each_pass_did(unit: Unit, passes: dict[str, Pass], tmp_path: Path) -> None:
    dump = Dump(tmp_path)
    dump.on_stage("import", unit)
    run_stage("nn", [passes["nothing"], passes["mark"]], unit, [dump])
    dump.finish()
    nothing, mark = json.loads((tmp_path / "index.json").read_text())
    assert (nothing["stage"], nothing["number"], nothing["pass"], nothing["changed"]) == ("nn", 1, "nothing", False)
    assert (mark["file"], mark["changed"], mark["rewrites"]) == ("01.nn/002.mark.mlir", True, {"mark": 1})
    assert mark["remarks"] == [{"kind": "applied", "location": ["/Relu"], "message": "marked", "data": {"times": 1}}]
    assert mark["ops_before"] == mark["ops_after"] == {"builtin.module": 1, "func.func": 1, "func.return": 1, "nn.relu": 1}
    assert mark["ms"] > 0


def test_a_failing_pass_leaves_what_it_had(unit: Unit, passes: dict[str, Pass], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="failed"):
        run_passes([passes["fail"]], unit, [Dump(tmp_path)])
    assert [path.name for path in (tmp_path / "01.nn").iterdir()] == ["001.fail.failed.mlir"]
    (row,) = json.loads((tmp_path / "index.json").read_text())
    assert row["error"] == "failed"


def test_writing_again_gives_the_same_folder(unit: Unit, passes: dict[str, Pass], tmp_path: Path) -> None:
    for _ in range(2):
        run_stage("nn", [passes["mark"], passes["nothing"]], unit, [Dump(tmp_path)])
    assert (tmp_path / "01.nn" / "002.nothing.mlir").readlink() == Path("../01.nn/001.mark.mlir")


def test_places_that_cannot_be_written(unit: Unit, tmp_path: Path) -> None:
    (tmp_path / "00.import").write_text("a file")
    with pytest.raises(Error) as caught:
        Dump(tmp_path).on_stage("import", unit)
    assert caught.value.code == "E0103"
