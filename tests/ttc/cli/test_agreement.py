"""`ttc run --engine both`."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from tests.ttc.comparison.test_engines import Drifting, Forgetful
from tests.ttc.residual import residual_model
from ttc.cli import main
from ttc.runtime.engines import table

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    onnx.save(residual_model(), tmp_path / "model.onnx")
    assert main(["compile", str(tmp_path / "model.onnx"), "-o", str(tmp_path / "model.tti"), "--target", "host", "-q"]) == 0
    return tmp_path / "model.tti"


def test_engines_that_agree(archive: Path, capsys: Capture) -> None:
    assert main(["run", str(archive), "--random", "--engine", "both", "--check", str(archive.with_suffix(".onnx"))]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:3] == ["y", "float32", "64x64"]
    assert lines[2].startswith("check y against ")
    assert lines[3].split() == ["op", "node", "max", "abs", "relative", "L2", "PCC", "of", "bound"]
    assert lines[-1] == "native agrees with reference on 5 ops: where the archive differs from its model, a pass did it (ttc bisect MODEL)"


def test_a_wrong_kernel(archive: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(table.ENGINES, "native", lambda *_: Forgetful())  # pyright: ignore[reportArgumentType]
    assert main(["run", str(archive), "--random", "--engine", "both"]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(
        "wrong kernel: op 'project' (node project) of graph 'forward_0': from the same inputs kernel numpy tile.matmul gives "
    )
    assert main(["run", str(archive), "--random", "--engine", "both", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)["engines"]
    assert (document["within"], document["first_wrong"]["ops"], document["first_wrong"]["within"]) == (False, ["project"], False)
    assert [row["within"] for row in document["ops"]].count(False) == 1


def test_errors_that_add_up(archive: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(table.ENGINES, "native", lambda *_: Drifting())  # pyright: ignore[reportArgumentType]
    assert main(["run", str(archive), "--random", "--engine", "both"]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("wrong together: ops '")
    assert "none of them is alone, so their fusion is, or errors add up" in last


def test_what_does_not_go_with_it(archive: Path, capsys: Capture) -> None:
    assert main(["run", str(archive), "--random", "--engine", "both", "--exact"]) == 2
    assert "error[E0101]: --engine both compares the engines once" in capsys.readouterr().err
