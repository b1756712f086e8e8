"""`ttc run --check MODEL --layers`."""

from __future__ import annotations

import json
import math
from pathlib import Path

import onnx
import pytest

from tests.ttc.comparison.test_layers import chain
from ttc.accuracy.distances import Comparison
from ttc.cli import layers as printed
from ttc.cli import main
from ttc.cli.console import Console
from ttc.comparison.layers import Layers, ModelLayer

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    onnx.save(chain(), tmp_path / "model.onnx")
    assert main(["compile", str(tmp_path / "model.onnx"), "-o", str(tmp_path / "model.tti"), "--target", "host", "-q"]) == 0
    return tmp_path / "model.tti"


def test_a_table_of_nodes_and_a_verdict(archive: Path, capsys: Capture) -> None:
    command = ["run", str(archive), "--random", "--check", str(archive.with_suffix(".onnx")), "--layers"]
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("node "))
    assert lines[start].split() == ["node", "op", "shape", "max", "abs", "relative", "L2", "PCC", "of", "bound"]
    assert [line.split()[0] for line in lines[start + 1 : -1]] == ["/0/Activation", "/1/Activation", "/2/Activation", "/Softmax"]
    assert lines[start + 2].split()[1:4] == ["(+2)", "tanh", "4x16"]
    assert lines[-1].startswith("layers: 4 nodes compared with ")
    assert lines[-1].endswith(" (6 fused into them, 0 folded away): all within bound")
    assert main([*command, "-v"]) == 0
    assert "fused into /1/Activation: /1/MatMul, /1/Add" in capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)["layers"]
    assert (document["within"], document["first_off"], document["folded"], document["drift"]) == (True, None, [], {})
    row = document["layers"][1]
    assert (row["node"], row["op"], row["shape"], row["fused"]) == ("/1/Activation", "tanh", [4, 16], ["/1/MatMul", "/1/Add"])
    assert row["within"]
    assert row["max_abs"] < 1e-5


def test_it_needs_a_model_and_one_engine(archive: Path, capsys: Capture) -> None:
    assert main(["run", str(archive), "--random", "--layers"]) == 2
    assert "error[E0101]: --layers compares an archive with its model, on one engine\nhint: add --check MODEL" in capsys.readouterr().err
    assert main(["run", str(archive), "--random", "--check", str(archive.with_suffix(".onnx")), "--layers", "--engine", "both"]) == 2
    assert "hint: leave out --engine both" in capsys.readouterr().err


def layers_of(errors: list[float], reason: str = "") -> Layers:
    """Nodes with these largest differences; the bound is 1e-4."""
    rows = [ModelLayer(f"n{i}", "relu", (2, -1), ("f",), Comparison(e, e, math.nan, 1.0)) for i, e in enumerate(errors)]
    rows += [ModelLayer("m", "lstm", (), (), None, reason)] if reason else []
    return Layers(tuple(rows), "evaluate", {}, ("k",))


def test_the_first_that_is_off_is_named(capsys: Capture) -> None:
    found = layers_of([1e-6, 3e-4, 1e-2], "it is inside a loop")
    printed.print_layers(Console(), found)
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split() == ["n1", "(+1)", "relu", "2x?", "0.0003", "0.0003", "-", "3", "OUT"]
    assert lines[4].split(maxsplit=6)[-1] == "it is inside a loop"
    assert lines[-1].startswith(
        "layers: 3 nodes compared with evaluate (3 fused into them, 1 folded away): 2 OUT OF bound; the first is n1 (with f "
    )


def test_a_long_table_shows_what_matters(capsys: Capture) -> None:
    """The first out of bound, then those nearest to it, in the order of the model."""
    found = layers_of([1e-7 if i % 2 else 2e-4 for i in range(200)])
    printed.print_layers(Console(), found)
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split()[0] for line in lines[1:-2]]
    assert len(rows) == printed.SHOWN
    assert rows == sorted(rows, key=lambda name: int(name[1:]))
    assert rows[0] == "n0"
    assert lines[-2] == "and 160 more nodes, 60 of them out of bound (all with -v or --json)"
    printed.print_layers(Console(verbosity=1), found)
    assert len([line for line in capsys.readouterr().out.splitlines() if line.startswith("n")]) >= 200
