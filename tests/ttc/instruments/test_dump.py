"""The dump of every pass."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ttc.compiler.driver import compile_path
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.nn.base import dialect
from ttc.instruments.dump import Dump
from ttc.options import CompileOptions, resolve
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
    assert print_op(parse_module(last, "dump", [dialect])) + "\n" == last


def test_compilation_goes_on_from_every_file(small_onnx: Path, tmp_path: Path) -> None:
    options = resolve(CompileOptions, {"batch": 2, "target": "n150", "kernels": "buda"})
    whole = compile_path(small_onnx, options, [Dump(tmp_path)])
    files = [path for path in sorted(tmp_path.rglob("*.mlir")) if not path.is_symlink()]
    assert len(files) > 8
    for path in files:
        again = compile_path(path, resolve(CompileOptions, {"weights": small_onnx}))
        assert again.text() == whole.text(), path.name


def test_a_dump_takes_the_place_of_an_earlier_one(small_onnx: Path, tmp_path: Path) -> None:
    buda = resolve(CompileOptions, {"batch": 2, "target": "n150", "kernels": "buda"})
    compile_path(small_onnx, buda, [Dump(tmp_path / "d")])
    for folder in ("d", "fresh"):
        compile_path(small_onnx, resolve(CompileOptions, {"batch": 2}), [Dump(tmp_path / folder)])
    names = [sorted(str(p.relative_to(tmp_path / d)) for p in (tmp_path / d).rglob("*.*")) for d in ("d", "fresh")]
    assert names[0] == names[1]


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
