"""`ttc bisect`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.ttc.planted import plant
from ttc.cli import main
from ttc.passes.nn.fuse_bias import FuseBias


def test_the_rewrite_is_printed(small_onnx: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bisect", str(small_onnx), "--batch", "2", "--target", "host"]) == 0
    assert capsys.readouterr().out == "every pass keeps it, and the native engine computes what the reference engine does\n"
    plant(monkeypatch, FuseBias)
    assert main(["bisect", str(small_onnx), "--batch", "2", "--target", "host"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("stage nn, pass fuse-bias@1: output ")
    assert "planted at " in lines[1]
    assert main(["bisect", str(small_onnx), "--batch", "2", "--target", "host", "--json"]) == 1
    culprit = json.loads(capsys.readouterr().out)["culprit"]
    assert (culprit["stage"], culprit["run"], culprit["pass"]) == ("nn", "fuse-bias@1", "fuse-bias")


@pytest.mark.parametrize("arguments", [["--rtol", "nan"], ["--check", "x.sh", "--rtol", "1"], ["--seed", "-1"]])
def test_bad_options(arguments: list[str], small_onnx: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bisect", str(small_onnx), "--batch", "2", *arguments]) == 2
    assert capsys.readouterr().err.startswith("error[E0101]")
