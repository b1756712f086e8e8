"""`ttc opt`."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tests.ttc.debug.test_opt import BAD, TEXT
from ttc.cli import main


def test_stdin_to_stdout(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    assert main(["opt", "-", "-p", "canonicalize", "--print-after", "canonicalize", "--stats"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("builtin.module {\n")
    assert "identity" not in out
    assert err.startswith("// ---- after canonicalize@1 (stage nn)")
    assert err.splitlines()[-1].split() == ["nn", "canonicalize", "identity", "1"]


def test_parts_with_announced_errors(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file, out = tmp_path / "t.mlir", tmp_path / "out.mlir"
    bad = BAD.replace("  %1", "  // expected-error @+1 {{axis 7}}\n  %1")
    file.write_text(f"{TEXT}// -----\n{bad}")
    assert main(["opt", str(file), "--split-input-file", "--verify-diagnostics"]) == 0
    assert capsys.readouterr().out == ""
    file.write_text(f"{TEXT}// -----\n{BAD}")
    assert main(["opt", str(file), "--split-input-file", "-o", str(out)]) == 2
    assert capsys.readouterr().err.startswith("error[E0412]: t.mlir:8: axis 7 is outside rank 2")
    assert not out.exists()


def test_pipelines_from_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file, pipeline = tmp_path / "t.mlir", tmp_path / "p.toml"
    file.write_text(TEXT)
    pipeline.write_text("passes = ['fold-shapes', 'canonicalize']")
    assert main(["opt", str(file), "--pipeline", str(pipeline)]) == 0
    assert "identity" not in capsys.readouterr().out
    pipeline.write_text("passes = 3")
    assert main(["opt", str(file), "--pipeline", str(pipeline)]) == 2
    assert main(["opt", str(file), "--pipeline", str(pipeline), "-p", "nn"]) == 2
    assert main(["opt", str(file), "-p", "canonicalise"]) == 2
    assert "did you mean 'canonicalize'?" in capsys.readouterr().err
