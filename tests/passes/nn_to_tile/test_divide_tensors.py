"""Tensors divided among chips: the docstring's example, remarks, what cannot be divided, and programs that compute what one chip does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import ttc
from tests.passes.module_pairs import check_pair, parse_unit
from tests.passes.nn_to_tile.encoders import ROWS, WIDTH, Encoder
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.locations import marked_chip
from ttc.dialects.core.machines.chip_groups import near_groups
from ttc.dialects.netlist.buda.rules.check import check_form
from ttc.exporters.buda.export import export
from ttc.exporters.buda.replay import replay
from ttc.passes import spread
from ttc.passes.base import Unit
from ttc.passes.manager import run_pass
from ttc.passes.nn_to_tile.divide_tensors import DivideTensors
from ttc.passes.pipeline import PipelineSettings

MESHES = {2: "1x2", 4: "2x2", 8: "2x4"}


@pytest.fixture
def encoder(tmp_path: Path, rng: np.random.Generator) -> Path:
    """The file of an encoder."""
    onnx.save(Encoder(rng).model(), tmp_path / "encoder.onnx")
    return tmp_path / "encoder.onnx"


def test_docstring() -> None:
    unit, report = check_pair(DivideTensors((4, 5)))
    (function,) = [op for op in unit.module.ops if op.name == "func.func"]
    marks = [marked_chip(op.location) for op in function.walk() if op.name in ("nn.matmul", "nn.add")]
    assert marks == [4, 5, 4, 5, 4]
    assert [r.message for r in report.remarks] == ["2 chips divide products by columns (1) and by rows (1)"]


def divide_as(monkeypatch: pytest.MonkeyPatch, groups: int, rows: int) -> None:
    """Let the compiler divide tensors in one way, without a comparison with others."""

    def way(unit: Unit, wanted: PipelineSettings) -> PipelineSettings:
        return replace(wanted, divides=near_groups(unit.target, wanted.chips, groups, rows))

    monkeypatch.setattr(spread, "best_spread", way)


@pytest.mark.parametrize(
    ("groups", "rows", "columns"), [(1, 1, 2), (1, 2, 1), (1, 1, 4), (1, 2, 2), (2, 2, 1), (1, 1, 8), (1, 4, 2), (2, 1, 4), (2, 4, 1)]
)
def test_chips_compute_what_one_does(
    groups: int, rows: int, columns: int, encoder: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    chips = groups * rows * columns
    divide_as(monkeypatch, groups, rows)
    x = rng.normal(size=(1, ROWS, WIDTH)).astype(np.float32)
    fields: dict[str, Any] = {"target": "n150", "format": "Float32"}
    wanted = ttc.Executor(ttc.compile(encoder, **fields))(x)[0]
    rule = [{"name": "n21", "epoch_break": True}] if groups > 1 else None
    program = ttc.compile(encoder, **fields, cluster=MESHES[chips], parallel="tensor", placement_file=rule)
    found = ttc.Executor(program)(x)[0]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())
    graphs = program.netlist.graphs.values()
    assert {graph.chip for graph in graphs} == set(range(chips))
    home = {op.name: graph for graph in graphs for op in graph.ops}
    direct = [(home[name], graph) for graph in graphs for op in graph.ops for name in op.inputs if name in home and home[name] is not graph]
    assert direct  # results pass from chip to chip within an epoch
    assert all(a.epoch == b.epoch and a.chip != b.chip for a, b in direct)


@pytest.mark.parametrize(("groups", "rows", "columns"), [(1, 2, 2), (2, 3, 1)])
def test_parts_that_are_filled_up(
    groups: int, rows: int, columns: int, tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the rows nor the columns of the last product are a multiple of the chips."""
    divide_as(monkeypatch, groups, rows)
    model = Encoder(rng, rows=71).model()
    last = model.graph.output[0].name
    model.graph.initializer.append(onnx.numpy_helper.from_array(rng.normal(size=(WIDTH, 77)).astype(np.float32), "vocabulary"))
    model.graph.node.append(onnx.helper.make_node("MatMul", [last, "vocabulary"], ["logits"], "logits"))
    model.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, [1, 71, 77]))
    onnx.save(model, tmp_path / "model.onnx")
    x = rng.normal(size=(1, 71, WIDTH)).astype(np.float32)
    fields: dict[str, Any] = {"target": "n150", "format": "Float32"}
    wanted = ttc.Executor(ttc.compile(tmp_path / "model.onnx", **fields))(x)[0]
    program = ttc.compile(tmp_path / "model.onnx", **fields, cluster=f"{groups}x{rows * columns}", parallel="tensor")
    shapes = {work.results[0].shape for graph in program.netlist.graphs.values() for op in graph.ops for work in op.work.works}
    assert (1, {2: 64, 3: 32}[rows], WIDTH) in shapes
    assert any(shape[-1] == {1: 77, 2: 64}[columns] for shape in shapes)
    np.testing.assert_allclose(ttc.Executor(program)(x)[0], wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


def test_a_batch_by_both_engines_and_kernel_sets(tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    divide_as(monkeypatch, 1, 1)  # as the compiler would choose, by compiling in both ways
    onnx.save(Encoder(rng, 3).model(), tmp_path / "encoder.onnx")
    x = rng.normal(size=(3, ROWS, WIDTH)).astype(np.float32)
    fields: dict[str, Any] = {"target": "n150", "format": "Float32"}
    wanted = ttc.Executor(ttc.compile(tmp_path / "encoder.onnx", **fields))(x)[0]
    for kernels, engine in (("fused", "reference"), ("buda", "native")):
        program = ttc.compile(tmp_path / "encoder.onnx", **fields, cluster="1x2", parallel="tensor", kernels=kernels)
        program.save(tmp_path / "divided.tti")
        with ttc.load(tmp_path / "divided.tti", engine=engine) as executor:
            (found,) = executor.run({"x": x}).values()
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


def test_products_that_chips_do_not_divide_are_computed_by_each() -> None:
    text = """func.func @f(%x: tensor<32x64xf32> {ttc.name = "x"}) -> (tensor<32x31xf32> {ttc.name = "y"}) {
      %u = ttc.constant() {value = #ttc.weight<"u", tensor<64x64xf32>>} : () -> tensor<64x64xf32>
      %v = ttc.constant() {value = #ttc.weight<"v", tensor<64x64xf32>>} : () -> tensor<64x64xf32>
      %w = ttc.constant() {value = #ttc.weight<"w", tensor<64x31xf32>>} : () -> tensor<64x31xf32>
      %1 = nn.matmul(%x, %u, _) {transpose_a = false, transpose_b = false}
          : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32> loc("up")
      %2 = nn.matmul(%1, %v, _) {transpose_a = false, transpose_b = false}
          : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32> loc("down")
      %3 = nn.matmul(%2, %w, _) {transpose_a = false, transpose_b = false}
          : (tensor<32x64xf32>, tensor<64x31xf32>) -> tensor<32x31xf32> loc("head")
      func.return %3 : tensor<32x31xf32> }"""
    report = run_pass(DivideTensors((0, 1)), parse_unit(text))
    assert [r.message for r in report.remarks if r.kind == "missed"] == ["each chip computes all of the product head"]


STATEFUL = """func.func @f(%x: tensor<32x64xf32> {ttc.name = "x"}) -> (tensor<32x64xf32> {ttc.name = "y", ttc.updates = "s"}) {
      %s = ttc.state() {sym = "s", value = #ttc.weight<"s", tensor<32x64xf32>>} : () -> tensor<32x64xf32>
      %1 = nn.add(%x, %s) : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
      func.return %1 : tensor<32x64xf32> }"""
PLAIN = """func.func @f(%x: tensor<32x64xf32> {ttc.name = "x"}) -> (tensor<32x64xf32> {ttc.name = "y"}) {
      %1 = nn.relu(%x) : (tensor<32x64xf32>) -> tensor<32x64xf32>
      func.return %1 : tensor<32x64xf32> }"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (STATEFUL, "it has states, or updates parameters"),
        (PLAIN, "no heads and no columns of its products are a multiple of the chips, or what reads them needs all"),
    ],
)
def test_what_cannot_be_divided(text: str, reason: str) -> None:
    unit = parse_unit(text)
    before = unit.text()
    report = run_pass(DivideTensors((0, 1, 2)), unit)
    message = f"its tensors cannot be divided over 3 chips: {reason}"
    assert [(r.kind, r.message) for r in report.remarks] == [("missed", message)]
    assert unit.text() == before
    with pytest.raises(Error, match="cannot be divided over 3 chips") as raised:
        run_pass(DivideTensors((0, 1, 2), required=True), unit)
    assert raised.value.code == "E0503"


def test_chips_that_divide_no_heads_and_no_columns_are_an_error(encoder: Path) -> None:
    with pytest.raises(Error, match="over 3 chips") as raised:
        ttc.compile(encoder, target="n150", cluster="1x3", parallel="tensor")
    assert raised.value.code == "E0503"


def test_exports_give_the_same_numbers(encoder: Path, rng: np.random.Generator) -> None:
    """Ops that read results of another chip's ops are ops of one epoch in Buda, too."""
    fields: dict[str, Any] = {"kernels": "buda", "format": "Float16_b", "parallel": "tensor"}
    program = ttc.compile(encoder, target="n300", chips=2, **fields)
    exported = export(program.netlist)
    assert check_form(exported.form, "wormhole_b0") == []
    x = rng.normal(size=(1, ROWS, WIDTH)).astype(np.float32)
    for found in replay(exported, program, {"x": x}):
        assert found.comparison.relative_l2 <= 1e-2, found.queue
