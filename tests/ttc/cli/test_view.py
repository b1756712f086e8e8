"""`ttc view`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ttc.view.test_document import valid
from ttc.cli import main

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def archive(small_onnx: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert main(["compile", str(small_onnx), "-o", "small.tti", "--batch", "2", "--dump", "dump", "-q"]) == 0
    return tmp_path / "small.tti"


def test_a_page(archive: Path, capsys: Capture) -> None:
    assert main(["view", "small.tti", "--dump", "dump"]) == 0
    assert "small.html: 0." in capsys.readouterr().out
    assert archive.with_name("small.html").read_text().startswith("<!doctype html>")


def test_check_and_profile(archive: Path, small_onnx: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr("ttc.view.page.page", lambda found: seen.append(found) or "page")
    assert main(["view", "small.tti", "--check", str(small_onnx), "--profile", "-o", "p.html", "-q"]) == 0
    found = valid(seen[0])
    layers = [layer for layer in found["numbers"]["layers"] if layer["figures"]]
    assert layers
    assert all(layer["figures"]["within"] for layer in layers)
    assert found["profile"]["jobs"]
    assert found["profile"]["flops_per_second"] > 0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], "E0101"),
        (["--check", "m.onnx", "--dump", "dump"], "E0101"),
        (["none.tti"], "E0102"),
        (["small.tti", "--dump", "nowhere"], "E0102"),
        (["small.tti", "-o", "nowhere/x.html"], "E0103"),
        (["small.tti", "-o", "small.tti"], "E0103"),
        (["small.tti", "--program", "backward", "--profile"], "E0803"),
        (["cut.tti"], "E07"),
        (["dump/index.json"], "E0201"),
    ],
)
def test_bad_input_is_one_error(archive: Path, capsys: Capture, arguments: list[str], code: str) -> None:
    data = archive.read_bytes()
    archive.with_name("cut.tti").write_bytes(data[: len(data) // 2])
    capsys.readouterr()
    assert main(["view", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error[{code}")
    assert "Traceback" not in error
    assert list(archive.parent.glob("*.html")) == []
    assert archive.read_bytes() == data
