"""The examples of the README run as they stand, and its tables are complete."""

from __future__ import annotations

import inspect
import re
import shlex
import shutil
from importlib import import_module
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.ttc.importers.onnx.cases import model_of, normal
from ttc.cli import main
from ttc.importers.onnx.tables import mappings
from ttc.options import BenchOptions, CompileOptions, DebugOptions, RunOptions, flag_of, settings

README = (Path(__file__).resolve().parent.parent / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.fixture
def folder(small_onnx: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the examples speak of, as the current one; a small network stands for the demo's."""
    shutil.copy(small_onnx, tmp_path / "model.onnx")
    (tmp_path / "demo").mkdir()
    nodes = [
        helper.make_node("GlobalAveragePool", ["x"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "w"], ["logits"]),
    ]
    onnx.save(model_of(nodes, {"x": normal(1, 3, 224, 224)}, ["logits"], {"w": normal(3, 1000)}), tmp_path / "demo" / "resnet50.onnx")
    np.save(tmp_path / "x.npy", np.ones((2, 8), np.float32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_commands(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands = [line for block in blocks("bash") for line in block.splitlines()]
    assert len(commands) == 27
    for command in commands:
        program, *arguments = shlex.split(command)
        assert (program, main(arguments)) == ("ttc", 0), command + capsys.readouterr().err
    assert (folder / "again.tti").read_bytes() == (folder / "model.tti").read_bytes()
    assert (folder / "out" / "probabilities.npy").exists()
    assert sorted(path.name for path in (folder / "passes").iterdir())[0] == "00.import"


def test_the_first_commands_are_about_what_the_demo_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parent.parent / "tools"))
    model = inspect.signature(import_module("demo").main).parameters["folder"].default / "resnet50.onnx"
    assert all(str(model.with_suffix("")) in command for command in blocks("bash")[0].splitlines()[:-1])
    assert str(model) in blocks("python")[0]


def test_python(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = blocks("python")
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out == "{'logits': (1, 1000)}\n"


@pytest.mark.parametrize("kind", [CompileOptions, DebugOptions, RunOptions, BenchOptions])
def test_every_option_is_listed(kind: type) -> None:
    before, _, after = README.partition("| `ttc tune-precision` |")
    tables = after if kind is BenchOptions else before
    for item, setting in settings(kind):
        (row,) = re.findall(rf"^\| `{flag_of(item.name)}[`\[ ].*$", tables, re.MULTILINE)
        words = [choice for choice in setting.choices if f"`{choice}`" not in row]
        assert not words or item.name == "from_", row


def test_links_lead_somewhere() -> None:
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (Path(__file__).resolve().parent.parent / link).exists(), link


def test_as_many_ops_have_a_mapping_as_it_says() -> None:
    assert f"| {len(mappings())} have a mapping" in README
