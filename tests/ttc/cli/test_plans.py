"""`ttc run` shows the native engine's plan and the steps that make it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ttc.cli import main

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def archive(small_onnx: Path) -> Path:
    """The small model compiled for batch 2."""
    path = small_onnx.with_suffix(".tti")
    assert main(["compile", str(small_onnx), "-o", str(path), "--batch", "2", "--target", "host", "-q"]) == 0
    return path


def test_the_plan_is_printed_beside_the_result(archive: Path, capsys: Capture) -> None:
    for _ in range(2):  # made anew, and as it was kept
        assert main(["run", str(archive), "--random", "--print-plan"]) == 0
        captured = capsys.readouterr()
        lines = captured.err.splitlines()
        assert lines[0].startswith("graph '")
        assert {"steps:", "jobs:", "order:", "  fuse-regions"} <= {line.partition(": ")[0] if line[0] == " " else line for line in lines}
        assert captured.out.startswith("output")


def test_steps_are_watched_as_passes_are(archive: Path, capsys: Capture) -> None:
    asked = ["--print-after", "lower", "--stats", "--timing", "--remarks", "native", "--rewrite-limit", "1"]
    assert main(["run", str(archive), "--random", *asked]) == 0
    told = capsys.readouterr().err
    assert "// ---- after lower@1 (stage native)\ngraph '" in told
    rows = [line.split()[:2] for line in told.splitlines()]
    assert ["native", "split-constant"] in rows
    assert any(row[:1] == ["place-buffers"] for row in rows)
    assert "last rewrite 1: " in told


@pytest.mark.parametrize("more", [["--engine", "reference"], ["--engine", "both"], ["--exact"]])
def test_other_engines_have_no_steps(more: list[str], archive: Path, capsys: Capture) -> None:
    assert main(["run", str(archive), "--random", "--print-plan", *more]) == 2
    assert capsys.readouterr().err.startswith("error[E0101]")


def test_unknown_steps_are_refused(archive: Path, capsys: Capture) -> None:
    assert main(["run", str(archive), "--random", "--print-after", "fuse-region"]) == 2
    assert "fuse-regions" in capsys.readouterr().err
