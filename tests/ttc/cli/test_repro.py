"""`ttc repro` and `ttc reduce`, after a crash of `ttc compile`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ttc.debug.test_crash import break_pass
from ttc.cli import main
from ttc.passes.nn.canonicalize import Canonicalize


def test_from_crash_to_a_small_case(
    small_onnx: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    break_pass(monkeypatch, Canonicalize, "nn.softmax")
    assert main(["compile", str(small_onnx), "-o", "m.tti", "--batch", "2"]) == 3
    (folder,) = tmp_path.glob("ttc-crash-*")
    err = capsys.readouterr().err
    assert f"ttc repro {folder.name}" in err
    assert main(["repro", folder.name]) == 1
    assert capsys.readouterr().out.startswith("canonicalize: the same error: KeyError")
    assert main(["reduce", folder.name, "-o", "small"]) == 0
    assert capsys.readouterr().out.startswith("small: 1 ops of ")
    assert main(["repro", "small"]) == 1
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert main(["repro", "small"]) == 0
    assert capsys.readouterr().out.endswith("canonicalize: it does not fail\n")


def test_errors_leave_nothing_unless_asked(small_onnx: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ttc.dialects.core.errors import Error

    monkeypatch.chdir(tmp_path)

    def refuse(self: object, unit: object, rewriter: object) -> None:
        raise Error("E0503", "no room")

    monkeypatch.setattr(Canonicalize, "apply", refuse)
    assert main(["compile", str(small_onnx), "-o", "m.tti", "--batch", "2"]) == 2
    assert list(tmp_path.iterdir()) == [small_onnx]
    assert main(["compile", str(small_onnx), "-o", "m.tti", "--batch", "2", "--reproduce"]) == 2
    assert len(list(tmp_path.glob("ttc-crash-*"))) == 1
