"""Partial sums in L1: the docstring's example, what has none, what the cost model makes of it, and what is emitted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.passes.documented import pair
from tests.passes.module_pairs import body_text, check_pair, parse_unit
from ttc.compiler.driver import compile_path
from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.netlist.buda.rules.check import check_form
from ttc.dialects.netlist.model import Op
from ttc.exporters.buda.export import export
from ttc.options import CompileOptions
from ttc.passes.manager import run_pass
from ttc.passes.netlist.accumulate_in_l1 import IN_L1, AccumulateInL1
from ttc.runtime.perf.base import OpView, Share
from ttc.runtime.perf.cycles import cycles


def test_docstring() -> None:
    _, report = check_pair(AccumulateInL1())
    assert [r.message for r in report.remarks] == ["partial sums are added up in L1, in Float32"]


@pytest.mark.parametrize("target", ["e150", "host"])
def test_other_targets_have_no_such_packers(target: str) -> None:
    before, _ = pair(AccumulateInL1)
    unit = parse_unit(before, target)
    assert run_pass(AccumulateInL1(), unit).remarks == []
    assert body_text(unit.module) == body_text(parse_unit(before, target).module)


def test_an_op_that_says_how_it_adds_stays() -> None:
    _, after = pair(AccumulateInL1)
    for said in (after, after.replace('[["l1_acc", true]]', '[["l1_acc", false]]')):
        unit = parse_unit(said)
        assert run_pass(AccumulateInL1(), unit).remarks == []
        assert body_text(unit.module) == body_text(parse_unit(said).module)


def products(tmp_path: Path, inner: int, **options: Any) -> dict[str, Op]:
    """The ops of a compiled product of 64 x `inner` with a matrix, by name."""
    rng = np.random.default_rng(sum(b"accumulate in l1"))
    weight = numpy_helper.from_array(rng.standard_normal((inner, 64), np.float32), "w")
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [64, inner]), ("y", [64, 64]))]
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"], name="product")], "g", ends[:1], ends[1:], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), tmp_path / "m.onnx")
    program = compile_path(tmp_path / "m.onnx", CompileOptions(**options)).program()
    form = export(program.netlist).form if options.get("kernels") == "buda" else None
    assert form is None or check_form(form) == []
    ops = {op.name: op for graph in program.netlist.graphs.values() for op in graph.ops}
    if form is not None:
        emitted = [op for graph in form.graphs.values() for op in graph.ops if op.type == "matmul"]
        assert [op.attributes.get("l1_acc") for op in emitted] == [True if op.settings else None for op in ops.values()]
    return ops


@pytest.mark.parametrize(
    ("inner", "options", "settings"),
    [
        (512, {}, IN_L1),
        (512, {"kernels": "buda", "format": "Bfp8_b"}, IN_L1),
        (32, {}, ()),
        (512, {"target": "e150", "format": "Float16_b"}, ()),
    ],
)
def test_compiled_products(tmp_path: Path, inner: int, options: dict[str, str], settings: tuple[object, ...]) -> None:
    (op,) = products(tmp_path, inner, **options).values()
    assert op.settings == settings


def test_sums_in_l1_take_less_time() -> None:
    """A product over 64 tiles, on one core."""

    def tensor(rows: int, cols: int) -> TensorType:
        return TensorType((rows, cols), "Bfp8_b", "tiles(32, 32)")

    attrs = {"transpose_a": False, "transpose_b": False}
    reloaded = OpView("matmul", dict(attrs), (tensor(128, 2048), tensor(2048, 128), None), tensor(128, 128), "LoFi")
    share = Share(1, 4, 4, (2, 4))
    assert cycles(replace(reloaded, l1_acc=True), share, "wormhole_b0") < 0.9 * cycles(reloaded, share, "wormhole_b0")
