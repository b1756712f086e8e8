"""Values of integer inputs on the command line: compiled for, shown, taken by runs, and held to."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.ttc.importers.onnx.cases import ints, model_of, normal
from ttc.cli import main

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model that is reshaped as an input says, and the value of that input."""
    nodes = [helper.make_node("Reshape", ["x", "sizes"], ["r"]), helper.make_node("MatMul", ["r", "w"], ["y"])]
    onnx.save(model_of(nodes, {"x": normal(8, 32), "sizes": ints(4, 64)}, ["y"], {"w": normal(64, 32)}), tmp_path / "m.onnx")
    np.save(tmp_path / "sizes.npy", ints(4, 64))
    np.save(tmp_path / "other.npy", ints(2, 128))
    return tmp_path


def ttc(folder: Path, *arguments: str) -> int:
    return main([argument.format(folder) for argument in arguments])


def compiled(folder: Path) -> Path:
    assert ttc(folder, "compile", "{}/m.onnx", "-o", "{}/m.tti", "--values", "sizes={}/sizes.npy", "-q") == 0
    return folder / "m.tti"


def test_without_a_value_the_hint_says_how(folder: Path, capsys: Capture) -> None:
    assert ttc(folder, "compile", "{}/m.onnx", "-o", "{}/m.tti") == 2
    assert "hint: the model can be compiled for one value of sizes: --values sizes=FILE.npy|NUMBER" in capsys.readouterr().err


def test_archives_are_the_same_wherever_the_value_comes_from(folder: Path) -> None:
    first = compiled(folder).read_bytes()
    (folder / "moved").mkdir()
    (folder / "sizes.npy").rename(folder / "moved/value.npy")
    assert ttc(folder, "compile", "{}/m.onnx", "-o", "{}/m.tti", "--values", "sizes={}/moved/value.npy", "-q") == 0
    assert (folder / "m.tti").read_bytes() == first
    assert str(folder).encode() not in first


def test_a_run_takes_it_and_is_held_to_it(folder: Path, capsys: Capture) -> None:
    compiled(folder)
    assert ttc(folder, "run", "{}/m.tti", "--check", "{}/m.onnx") == 0
    captured = capsys.readouterr()
    assert captured.err == "note: random values for x (seed 0)\n"
    assert "within bound" in captured.out
    assert ttc(folder, "run", "{}/m.tti", "--input", "sizes={}/sizes.npy", "--random") == 0
    capsys.readouterr()
    assert ttc(folder, "run", "{}/m.tti", "--input", "sizes={}/other.npy", "--random") == 2
    assert "error[E0806]: input 'sizes' is [2, 128], and the program was compiled for [4, 64] alone" in capsys.readouterr().err


def test_info_shows_it(folder: Path, capsys: Capture) -> None:
    compiled(folder)
    assert ttc(folder, "info", "{}/m.tti") == 0
    assert "input sizes must be [4, 64]: the programs hold for this value alone" in capsys.readouterr().out
    assert ttc(folder, "info", "{}/m.tti", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["fixed_inputs"] == [{"name": "sizes", "dtype": "int64", "shape": [2], "value": [4, 64]}]


def test_check_and_tuning_take_it(folder: Path, capsys: Capture) -> None:
    assert ttc(folder, "check", "{}/m.onnx", "--values", "sizes={}/sizes.npy") == 0
    capsys.readouterr()
    arguments = "--values", "sizes={}/sizes.npy", "--effort", "5", "--json"
    assert ttc(folder, "tune-precision", "{}/m.onnx", *arguments) == 0
    assert json.loads(capsys.readouterr().out)["pcc"] >= 0.99


def test_text_has_its_values(folder: Path, capsys: Capture) -> None:
    assert ttc(folder, "compile", "{}/m.onnx", "-o", "{}/m.mlir", "--to", "nn", "--values", "sizes={}/sizes.npy", "-q") == 0
    assert ttc(folder, "compile", "{}/m.mlir", "-o", "{}/m.tti", "--values", "sizes={}/sizes.npy") == 2
    assert "--values go with a model" in capsys.readouterr().err
