"""`ttc tune-precision`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from ttc.cli import main
from ttc.settings.precision_reader import read_rules

Capture = pytest.CaptureFixture[str]


def tune(*arguments: object) -> int:
    return main(["tune-precision", *map(str, arguments)])


def test_a_table_and_a_file_that_compile_takes(small_onnx: Path, tmp_path: Path, capsys: Capture) -> None:
    rules = tmp_path / "rules.toml"
    assert tune(small_onnx, "-o", rules, "--batch", 2, "--effort", 12) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert lines[0].split() == ["op", "setting", "ops", "chosen"]
    count = len(read_rules(rules))
    assert lines[-1] == f"{rules}: {count} rule{'s' * (count != 1)}, for ttc compile --precision-file"
    assert captured.err == "note: random values for x (seed 0)\n"
    assert main(["compile", str(small_onnx), "-o", str(tmp_path / "s.tti"), "--batch", "2", "--precision-file", str(rules), "-q"]) == 0
    assert main(["run", str(tmp_path / "s.tti"), "--check", str(small_onnx), "-q"]) == 0


def test_json(small_onnx: Path, tmp_path: Path, capsys: Capture) -> None:
    np.savez(tmp_path / "in.npz", x=np.ones((2, 8), np.float32))
    assert tune(small_onnx, "--batch", 2, "--inputs", tmp_path / "in.npz", "--pcc", 0.9, "--candidates", "Float16_b", "--json") == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert (found["target"], found["bound"], captured.err) == ("n150", 0.9, "")
    assert found["pcc"] >= 0.9
    assert found["after"]["tensor_bytes"] <= found["before"]["tensor_bytes"]
    assert {choice["setting"] for choice in found["choices"]} == {"output", "fidelity"}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("--pcc", 1.5), "E0101"), (("--effort", 0), "E0101"), (("--candidates", "Bfp9"), "E0101"), (("--candidates", "Half"), "E0607")],
)
def test_errors(arguments: tuple[object, ...], code: str, small_onnx: Path, capsys: Capture) -> None:
    assert tune(small_onnx, "--batch", 2, *arguments) == 2
    assert capsys.readouterr().err.startswith(f"error[{code}]")


def test_a_rule_that_matches_nothing_is_a_warning(small_onnx: Path, tmp_path: Path, capsys: Capture) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[precision]]\nop = "matmull"\nfidelity = "LoFi"\n')
    assert main(["compile", str(small_onnx), "-o", str(tmp_path / "s.tti"), "--batch", "2", "--precision-file", str(rules)]) == 0
    assert capsys.readouterr().err == "warning: rule 'op=matmull fidelity=LoFi' matches no op; did you mean 'matmul'?\n"


def one_number(folder: Path) -> Path:
    """y[1, 1] = x[1, 64] @ w: an output that has no correlation."""
    w = np.random.default_rng(7).uniform(0.5, 1.5, (64, 1)).astype(np.float32)
    inputs, outputs = ([helper.make_tensor_value_info(name, 1, shape)] for name, shape in (("x", [1, 64]), ("y", [1, 1])))
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "one", inputs, outputs, [numpy_helper.from_array(w, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), folder / "one.onnx")
    np.savez(folder / "in.npz", x=np.ones((1, 64), np.float32))
    return folder / "one.onnx"


def test_an_output_without_a_correlation_is_judged_by_its_error(tmp_path: Path, capsys: Capture) -> None:
    model = one_number(tmp_path)
    assert tune(model, "--inputs", tmp_path / "in.npz", "--pcc", 0.99, "--effort", 20, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["pcc"] is None
    assert 0 < found["relative_l2"] < (2 * 0.01) ** 0.5
    assert found["rules"]
    assert tune(model, "--inputs", tmp_path / "in.npz", "--pcc", 0.99, "--effort", 20) == 0
    assert "\nPCC -, relative L2 " in capsys.readouterr().out
