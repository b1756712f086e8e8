"""`ttc check`."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from onnx import helper

from tests.ttc.importers.onnx.cases import ints, model_of, normal
from ttc.cli import main
from ttc.cli.check import flops_text, needed
from ttc.importers.common.unsupported import Refusal

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    nodes = [
        helper.make_node("Reshape", ["x", "s"], ["y"], name="/reshape"),
        helper.make_node("Odd", ["x"], ["z"], name="/odd", domain="own"),
    ]
    path = tmp_path / "broken.onnx"
    onnx.save(model_of(nodes, {"x": normal(2, 3), "s": ints(1)}, ["y", "z"]), path)
    return path


def run(*arguments: object) -> int:
    return main(["check", *map(str, arguments)])


def test_text_of_a_model_that_compiles(small_onnx: Path, capsys: Capture) -> None:
    assert run(small_onnx, "--batch", 2, "--target", "host") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("small.onnx: ONNX, opset ai.onnx 18, ")
    assert lines[1:4] == [
        "4 nodes of 4 ops: Add 1, MatMul 1, Relu 1, Softmax 1",
        "2 weights: 36 numbers, 144 B",
        "input x: float32[batch, 8], fixed to [2, 8]",
    ]
    assert lines[4].endswith("100.00 % on the device, 0.00 % in host segments")
    assert lines[-1] == "compiles for host"


def test_open_dimensions(small_onnx: Path, capsys: Capture) -> None:
    assert run(small_onnx) == 2
    out = capsys.readouterr().out
    assert "input x: float32[batch, 8], dynamic; taken as [1, 8]" in out
    assert out.splitlines()[-1] == "compiles for n150 once open dimensions are fixed, for example: --shape x=1x8"
    assert run(small_onnx, "--quiet") == 2
    assert capsys.readouterr().out.count("\n") == 1


def test_text_of_a_model_that_does_not(broken: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert run(broken) == 2
    captured = capsys.readouterr()
    rows = [line.split() for line in captured.out.splitlines()]
    assert ["2", "nodes", "cannot", "be", "imported:"] in rows
    assert any(row[:1] == ["Reshape"] and row[-3:] == ["or", "--values", "s=FILE.npy|NUMBER"] for row in rows)
    assert captured.out.splitlines()[-2:] == ["does not compile for n150", "flags that would help: --values s=FILE.npy|NUMBER"]
    assert captured.err == ""


def test_json(broken: Path, capsys: Capture) -> None:
    assert run(broken, "--json", "--target", "host") == 2
    found = json.loads(capsys.readouterr().out)
    assert (found["model"], found["target"], found["compiles"], found["nodes"]) == ("broken.onnx", "host", False, 2)
    assert (found["error"]["code"], found["flags"]) == ("E0202", ["--values s=FILE.npy|NUMBER"])
    assert {row["op"]: row["nodes"] for row in found["unsupported"]} == {"Reshape": ["/reshape"], "Odd": ["/odd"]}
    assert found["inputs"] == [{"name": "x", "dtype": "float32", "dims": [2, 3]}, {"name": "s", "dtype": "int64", "dims": [1]}]
    assert found["flops"] is None


def test_json_of_host_segments(tmp_path: Path, capsys: Capture) -> None:
    nodes = [helper.make_node("Unique", ["x"], ["d"], name="/unique"), helper.make_node("MatMul", ["x", "x"], ["p"])]
    onnx.save(model_of(nodes, {"x": normal(8, 8)}, ["d", "p"]), tmp_path / "m.onnx")
    assert run(tmp_path / "m.onnx", "--json") == 0
    flops = json.loads(capsys.readouterr().out)["flops"]
    assert flops["of_the_whole_model"]
    assert flops["device"] + flops["host"] == flops["total"] == 2 * 8**3 + 64
    assert [(entry["op"], entry["nodes"]) for entry in flops["host_ops"]] == [("unique", ["/unique"])]
    assert run(tmp_path / "m.onnx") == 0
    assert "host op" in capsys.readouterr().out


def test_errors(tmp_path: Path, capsys: Capture) -> None:
    assert run(tmp_path / "none.onnx") == 2
    assert "error[E0102]" in capsys.readouterr().err
    (tmp_path / "m.onnx").write_bytes(b"junk")
    assert run(tmp_path / "m.onnx") == 2
    assert "error[E0201]" in capsys.readouterr().err
    onnx.save(model_of([helper.make_node("Gemm", ["x", "x"], ["y"])], {"x": normal(2, 3)}, ["y"]), tmp_path / "m.onnx")
    assert run(tmp_path / "m.onnx") == 2
    captured = capsys.readouterr()
    assert "does not compile" in captured.out
    assert "error[E0401]" in captured.err


def test_what_is_needed() -> None:
    def of(why: str, *wanted: str) -> str:
        return needed(Refusal("Op", "ai.onnx 18", why, ("n",)), wanted)

    assert of("no mapping") == "an importer's mapping of Op, or a function of that name in the model"
    assert of("needs a constant shape", "s") == "a constant shape in the model or --values s=FILE.npy|NUMBER"
    assert of("takes no sequences") == "a model that does without: takes no sequences"
    assert "set of ops that has Op" in of("no such op in this opset")


def test_figures() -> None:
    assert [flops_text(x) for x in (0, 999, 8.19e9, 3.2e13)] == ["0 FLOP", "999 FLOP", "8.19 GFLOP", "32 TFLOP"]


def test_lines_fit_and_v_shows_where_an_error_was_raised(tmp_path: Path, capsys: Capture) -> None:
    names = [f"/a/module/with/a/long/path/that/says/much/{index}" for index in range(3)]
    nodes = [helper.make_node("Odd", ["x"], [f"y{i}"], name=name, domain="own") for i, name in enumerate(names)]
    onnx.save(model_of(nodes, {"x": normal(2, 3)}, ["y0"]), tmp_path / "m.onnx")
    assert run(tmp_path / "m.onnx") == 2
    out = capsys.readouterr().out
    assert all(name in out for name in names)
    assert max(map(len, out.splitlines())) < 120, "80, but for names"
    onnx.save(model_of([helper.make_node("Gemm", ["x", "x"], ["y"])], {"x": normal(2, 3)}, ["y"]), tmp_path / "m.onnx")
    assert run(tmp_path / "m.onnx", "-v") == 2
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_sizes_that_were_taken_are_named_where_they_do_not_compile(tmp_path: Path, capsys: Capture) -> None:
    model = model_of([helper.make_node("Gemm", ["x", "w"], ["y"])], {"x": normal(2, 3)}, ["y"], {"w": normal(4, 4)})
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    onnx.save(model, tmp_path / "m.onnx")
    assert run(tmp_path / "m.onnx", "--target", "host") == 2
    captured = capsys.readouterr()
    last = captured.out.splitlines()[-1]
    assert last == "does not compile for host with --shape x=1x3, sizes taken as nobody gave them: others may compile"
    assert "error[E0401]" in captured.err
    assert run(tmp_path / "m.onnx", "--target", "host", "--json") == 2
    found = json.loads(capsys.readouterr().out)
    assert (found["error"]["code"], found["error_with_flags"]["code"]) == ("E0205", "E0401")
