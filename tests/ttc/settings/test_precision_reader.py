"""Rules of precision from files, tables and texts, and compilations that obey them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.archives import run_alike
from ttc.compiler.driver import compile_path
from ttc.dialects.core.errors import Error
from ttc.dialects.core.rules.precision import AMP, PrecisionRule
from ttc.dialects.netlist.model import Op
from ttc.options import CompileOptions, resolve
from ttc.settings.precision_reader import read_rules

FILE = """
[[precision]]
op = "matmul"
weights = "Bfp8_b"
fidelity = "LoFi"
accumulate = "Float16_b"
intermediate = "Float16_b"

[[precision]]
name = "/Softmax"
output = "Float16_b"
"""
RULES = (
    PrecisionRule("matmul", weights="Bfp8_b", fidelity="LoFi", accumulate="Float16_b", intermediate="Float16_b"),
    PrecisionRule(name="/Softmax", output="Float16_b"),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rules.toml"
    path.write_text(FILE)
    return path


def test_ways_to_write_rules(file: Path) -> None:
    assert read_rules(file) == read_rules(str(file)) == RULES
    assert read_rules([rule.text for rule in RULES]) == RULES
    assert read_rules([{"name": "/Softmax", "output": "Float16_b"}]) == RULES[1:]
    tables = [{"op": "matmul", "fidelity": "LoFi"}]
    assert resolve(CompileOptions, {}, {}, {"precision": tables}).rules == (PrecisionRule("matmul", fidelity="LoFi"),)
    assert resolve(CompileOptions, {"amp": 1, "precision_file": file}).rules == (*AMP[1], *RULES)


@pytest.mark.parametrize(
    ("text", "where", "hint"),
    [
        ("[[precison]]\n", "", "did you mean 'precision'?"),
        ("precision = 3\n", "", "write [[precision]]"),
        ("precision = [3]\n", ": rule 1", "write [[precision]]"),
        ('[[precision]]\noutput = "Float32"\n[[precision]]\nouput = "Float32"\n', ": rule 2", "did you mean 'output'?"),
    ],
)
def test_files_that_hold_no_rules(text: str, where: str, hint: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(Error) as caught:
        resolve(CompileOptions, {"precision_file": path})
    assert (caught.value.code, caught.value.where, caught.value.hint) == ("E0101", f"{path}{where}", hint)


def matmul_of(path: Path, **fields: object) -> tuple[Op, str]:
    """The matmul of a compiled model, and the format of its weights."""
    package = compile_path(path, resolve(CompileOptions, {"batch": 2, **fields})).package
    assert package is not None
    (op,) = [op for graph in package.netlist.graphs.values() for op in graph.ops if op.type == "matmul"]
    return op, package.netlist.queues[op.inputs[1]].tensor.format


def test_a_netlist_obeys(small_onnx: Path, file: Path) -> None:
    op, weights = matmul_of(small_onnx, precision_file=file)
    assert (op.fidelity, op.accumulate, op.intermediate, weights) == ("LoFi", "Float16_b", "Float16_b", "Bfp8_b")
    op, weights = matmul_of(small_onnx, precision_file=file, amp=2)
    assert (op.fidelity, weights, op.work.works[-1].results[0].format) == ("LoFi", "Bfp8_b", "Float32")  # what feeds a softmax
    assert matmul_of(small_onnx, amp=1)[0].fidelity == "HiFi2"


@pytest.mark.parametrize("stage", ["import", "nn", "tile", "netlist"])
def test_resuming_gives_what_runs_alike(stage: str, small_onnx: Path, file: Path, tmp_path: Path) -> None:
    fields = {"batch": 2, "precision_file": file, "amp": 1}
    whole, text, again = tmp_path / "a.tti", tmp_path / "a.mlir", tmp_path / "b.tti"
    compile_path(small_onnx, resolve(CompileOptions, fields)).program().save(whole)
    text.write_text(compile_path(small_onnx, resolve(CompileOptions, {**fields, "to": stage})).text())
    file.unlink()
    compile_path(text, resolve(CompileOptions, {"weights": small_onnx})).program().save(again)
    assert run_alike(again) == run_alike(whole)
    with pytest.raises(Error) as caught:
        compile_path(text, resolve(CompileOptions, {"weights": small_onnx, "amp": 2}))
    assert caught.value.code == "E0101"


def test_a_level_cannot_be_added_later(small_onnx: Path, tmp_path: Path) -> None:
    text = tmp_path / "a.mlir"
    text.write_text(compile_path(small_onnx, resolve(CompileOptions, {"batch": 2, "to": "tile"})).text())
    with pytest.raises(Error) as caught:
        compile_path(text, resolve(CompileOptions, {"weights": small_onnx, "amp": 1}))
    assert (caught.value.code, caught.value.message) == ("E0101", "--amp 1: the IR was compiled without it")
