"""Every script of examples/ runs, and what it prints is right."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ttc.cli import main

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))
Run = Callable[[str], list[str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a script in a folder of its own, the commands that it starts in this process; gives the lines that both print."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(subprocess, "run", command)

    def lines(name: str) -> list[str]:
        path = str(ROOT / "examples" / f"{name}.py")
        monkeypatch.setattr(sys, "argv", [path])
        runpy.run_path(path, run_name="__main__")
        return capsys.readouterr().out.splitlines()

    return lines


def command(arguments: list[str], *, check: bool, capture_output: bool = False) -> subprocess.CompletedProcess[bytes]:
    """What `subprocess.run` does for a command of ttc, without a process: the modules are loaded already."""
    assert arguments[:3] == [sys.executable, "-m", "ttc"]
    assert check
    if not capture_output:
        assert main(arguments[3:]) == 0
        return subprocess.CompletedProcess(arguments, 0)
    with contextlib.redirect_stdout(io.StringIO()) as told:
        assert main(arguments[3:]) == 0
    return subprocess.CompletedProcess(arguments, 0, told.getvalue().encode())


def figures(line: str) -> list[float]:
    """The numbers of a line."""
    return [float(found) for found in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.])", line)]


def test_classify_image(run: Run) -> None:
    printed = run("classify_image")
    probabilities = [figures(line.partition(":")[2])[0] for line in printed]
    assert len(probabilities) == 5
    assert probabilities == sorted(probabilities, reverse=True)
    assert 0.5 < sum(probabilities) <= 1.001


def test_llm_layer(run: Run) -> None:
    pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")
    errors = {line.partition(":")[0]: figures(line)[0] for line in run("llm_layer")[:3]}
    assert errors["Float32"] < 1e-5 < 1e-3 < errors["Bfp8_b"] < 6e-2 < errors["Bfp4_b"] < 0.5


def test_generate_text(run: Run) -> None:
    for library in ("torch", "transformers", "tokenizers"):
        pytest.importorskip(library, reason="it is installed where torch is")
    assert run("generate_text") == ["the tiles of a matrix are small matrices", " of a tile lie in faces"]


def test_quantized_model(run: Run) -> None:
    defined, real = (figures(line.partition(":")[2])[-1] for line in run("quantized_model"))
    assert defined < 1e-4
    assert 1e-3 < real < 5e-2


def test_edit_ir(run: Run) -> None:
    printed = run("edit_ir")
    assert any('activation = "relu"' in line for line in printed)
    assert figures(printed[-1])[-1] < 1e-5


def test_custom_target(run: Run) -> None:
    times = [figures(line)[1] for line in run("custom_target")]
    assert len(times) == 4
    assert times == sorted(times, reverse=True)
    assert times[0] > 4 * times[-1]


def test_buda_netlist(run: Run) -> None:
    printed = run("buda_netlist")
    assert any("valid for wormhole_b0" in line for line in printed)
    assert figures(printed[-1])[-1] < 2e-3


def test_train_digits(run: Run) -> None:
    pytest.importorskip("sklearn", reason="its samples are scikit-learn's")
    right, count = figures(run("train_digits")[-1])
    assert count == 384
    assert right / count > 0.96


def test_train_gpt(run: Run) -> None:
    pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")
    told = [line for line in run("train_gpt") if line.startswith("update")]
    losses, shares = ([figures(line.replace("%", ""))[i] for line in told] for i in (1, 2))
    assert losses[-1] < 0.45 * losses[0]
    assert shares[-1] > 50


def test_every_script_has_a_test_and_a_page() -> None:
    page = (ROOT / "docs" / "examples.md").read_text()
    assert [name for name in SCRIPTS if f"test_{name}" not in globals()] == []
    assert [name for name in SCRIPTS if f'--8<-- "examples/{name}.py"' not in page] == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_say_how_they_are_called(name: str) -> None:
    assert f"    python examples/{name}.py" in (ROOT / "examples" / f"{name}.py").read_text()
