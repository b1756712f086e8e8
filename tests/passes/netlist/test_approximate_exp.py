"""Approximate exponentials: the docstring's example, what keeps exact ones, and what comes out of a compiled program."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import ttc
from tests.passes.documented import pair
from tests.passes.module_pairs import body_text, check_pair, parse_unit
from ttc.compiler.driver import compile_path
from ttc.options import CompileOptions
from ttc.passes.manager import run_pass
from ttc.passes.netlist.approximate_exp import APPROXIMATE, ApproximateExp
from ttc.runtime.program import Program


def test_docstring() -> None:
    _, report = check_pair(ApproximateExp())
    assert [r.message for r in report.remarks] == ["exponentials are approximate, as the fidelity is LoFi"]


def test_other_fidelities_keep_exact_exponentials() -> None:
    before, _ = pair(ApproximateExp)
    finer = before.replace('fidelity = "LoFi"', 'fidelity = "HiFi2"')
    unit = parse_unit(finer)
    (remark,) = run_pass(ApproximateExp(), unit).remarks
    assert (remark.kind, remark.message) == ("missed", "exponentials are exact, as the fidelity is HiFi2, not LoFi")
    assert body_text(unit.module) == body_text(parse_unit(finer).module)


def test_the_host_and_ops_that_say_how_they_compute_stay() -> None:
    before, after = pair(ApproximateExp)
    exact = after.replace('[["approximate_mode", true]]', '[["approximate_mode", false]]')
    for text, target in ((before, "host"), (after, "n150"), (exact, "n150")):
        unit = parse_unit(text, target)
        assert run_pass(ApproximateExp(), unit).remarks == []
        assert body_text(unit.module) == body_text(parse_unit(text, target).module)


def softmax(tmp_path: Path, **options: str) -> Program:
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [32, 96]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Softmax", ["x"], ["y"], name="soft", axis=-1)], "g", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), tmp_path / "m.onnx")
    return compile_path(tmp_path / "m.onnx", CompileOptions(**options)).program()  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("fidelity", "settings", "bounds"), [("LoFi", APPROXIMATE, (0.03, 0.09)), ("HiFi4", (), (0.0, 0.015))])
def test_exact_runs_compute_what_the_op_says(
    tmp_path: Path, fidelity: str, settings: tuple[object, ...], bounds: tuple[float, float]
) -> None:
    """The largest relative error; registers hold ten bits behind the leading one.  Runs that are not exact compute the op as ever."""
    program = softmax(tmp_path, fidelity=fidelity, format="Float32", target="n150")
    assert [op.settings for graph in program.netlist.graphs.values() for op in graph.ops if op.type == "softmax"] == [settings]
    x = np.random.default_rng(sum(b"softmax")).standard_normal((32, 96), np.float32) * 3
    powers = np.exp(x - x.max(axis=-1, keepdims=True), dtype=np.float64)
    wanted = powers / powers.sum(axis=-1, keepdims=True)
    program.save(tmp_path / "m.tti")
    off = {exact: np.abs(ttc.load(tmp_path / "m.tti", exact=exact).run({"x": x})["y"] / wanted - 1).max() for exact in (True, False)}
    assert bounds[0] <= off[True] <= bounds[1]
    assert off[False] < 1e-5
