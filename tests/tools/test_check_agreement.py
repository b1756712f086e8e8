"""`tools/check_agreement.py`: what it compares, and a short run."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import onnx
import pytest

import check_agreement
from check_agreement import compared, main
from random_models import random_model
from real_catalogue import Model
from ttc.dialects.core.errors import Error
from ttc.options import CompileOptions
from ttc.reports.readiness import ReadinessFindings, check

MODELS = 30


def test_check_and_compile_agree(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--count", str(MODELS), "--seed", "1"]) == 0
    out = capsys.readouterr().out
    assert out.endswith(f"{2 * MODELS} compilations of {MODELS} models, 0 disagreements\n")
    assert {"host: compiles", "n150: compiles"} <= {line.rpartition(":")[0] for line in out.splitlines()}
    assert "host: E0" in out, "some models are broken"


def test_models_are_the_same_for_a_seed_and_of_many_ops() -> None:
    models = [random_model(Random(f"ops {index}"))[0] for index in range(60)]
    assert models[3] == random_model(Random("ops 3"))[0]
    ops = {node.op_type for model in models for node in model.graph.node}
    assert len(ops) > 50
    assert max(len(node.input) for model in models for node in model.graph.node) >= 45
    dims = [dim for model in models for value in model.graph.input for dim in value.type.tensor_type.shape.dim]
    assert any(dim.dim_param for dim in dims)


def test_real_models_are_compiled_for_the_arrays_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    port = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["rows", 4])
    result = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "small", [port], [result])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=10), tmp_path / "relu.onnx")
    np.save(tmp_path / "relu.in0.npy", np.zeros((7, 4), np.float32))
    model = Model("made here", tmp_path / "relu.onnx", "relu.onnx", given=True)
    monkeypatch.setitem(check_agreement.SOURCES, "shipped", lambda folder: iter([model]))
    assert check_agreement.real_options(model, "host").shape == (("x", (7, 4)),)
    assert main(["--real", str(tmp_path), "--sources", "shipped", "-k", "^made here/"]) == 0
    assert capsys.readouterr().out == "host: compiles: 1\nn150: compiles: 1\n2 compilations of 1 models, 0 disagreements\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["relu.in0.npy", "relu.onnx"]


def test_a_disagreement_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    onnx.save(random_model(Random("agree"))[0], tmp_path / "m.onnx")

    def wrong(path: Path, options: CompileOptions) -> ReadinessFindings:
        check(path, options)
        raise Error("E0901", "made up")

    monkeypatch.setattr(check_agreement, "check", wrong)
    _, (row,) = compared(tmp_path / "m.onnx", CompileOptions(target="host"), 7)
    assert (row.model, row.what, row.check) == (7, "check", "E0901")
