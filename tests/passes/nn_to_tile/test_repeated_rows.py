"""Constants with the same rows for each sample: which there are, what is left of them, and what a program of theirs computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ttc
from tests.passes.module_pairs import parse_unit
from ttc.dialects.core.batch_axis import OUTERMOST
from ttc.dialects.core.ir.entries import derived_functions, entry_functions, ports
from ttc.dialects.core.ir.leaves import ConstantOp, LeafOp
from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.core.ir.to_plain import plain_block
from ttc.dialects.core.plain.interpret import run
from ttc.passes.base import Unit
from ttc.passes.manager import run_pass
from ttc.passes.nn_to_tile.carriers import Carriers
from ttc.passes.nn_to_tile.repeated_rows import RepeatedRows
from ttc.passes.nn_to_tile.stream_batch import StreamBatch

ROW = np.arange(64, dtype=np.float32).reshape(1, 1, 64)
SAME = np.repeat(ROW, 4, axis=0)


def unit_of(leaf: str, value: np.ndarray, result: str = "", **more: np.ndarray) -> Unit:
    """A program that puts a constant's row before the rows of each of four samples."""
    text = f"""func.func @forward(%x: tensor<4x31x64xf32> {{ttc.name = "x"}}) -> (tensor<4x32x64xf32> {{ttc.name = "y"{result}}}) {{
      %w = {leaf} : () -> tensor<4x1x64xf32>
      %y = nn.concat(%w, %x) {{axis = 1}} : (tensor<4x1x64xf32>, tensor<4x31x64xf32>) -> tensor<4x32x64xf32>
      func.return %y : tensor<4x32x64xf32> }}"""
    unit = parse_unit(text)
    for key, array in {"w": value, **more}.items():
        unit.weights.add_array(key, array)
    return unit


CONSTANT = 'ttc.constant() {value = #ttc.weight<"w", tensor<4x1x64xf32>>}'
PARAMETER = 'ttc.param() {sym = "w", value = #ttc.weight<"w", tensor<4x1x64xf32>>}'
STATE = 'ttc.state() {sym = "w", value = #ttc.weight<"w", tensor<4x1x64xf32>>}'


def leaf_of(unit: Unit) -> LeafOp:
    """The only leaf of a unit's program."""
    (function,) = entry_functions(unit.module)
    (leaf,) = [op for op in function.body.block.ops if isinstance(op, LeafOp)]
    return leaf


def test_rows_that_are_equal_for_good() -> None:
    other = SAME.copy()
    other[3, 0, 5] = 7.5
    for kind in (CONSTANT, PARAMETER):
        unit = unit_of(kind, SAME)
        assert RepeatedRows(unit).has(leaf_of(unit), OUTERMOST, 4)
        unit = unit_of(kind, other)
        assert not RepeatedRows(unit).has(leaf_of(unit), OUTERMOST, 4)


def test_what_can_change_is_not_repeated() -> None:
    unit = unit_of(STATE, SAME)
    assert not RepeatedRows(unit).has(leaf_of(unit), OUTERMOST, 4)
    updating = """func.func @forward(%x: tensor<4x1x64xf32> {ttc.name = "x"}) -> (tensor<4x1x64xf32> {ttc.name = "y", ttc.updates = "w"}) {
      %w = ttc.param() {sym = "w", value = #ttc.weight<"w", tensor<4x1x64xf32>>} : () -> tensor<4x1x64xf32>
      %y = nn.add(%w, %x) : (tensor<4x1x64xf32>, tensor<4x1x64xf32>) -> tensor<4x1x64xf32>
      func.return %y : tensor<4x1x64xf32> }"""
    unit = parse_unit(updating)
    unit.weights.add_array("w", SAME)
    assert not RepeatedRows(unit).has(leaf_of(unit), OUTERMOST, 4)


def derived(expression: str) -> Unit:
    """A program whose constant an expression of a parameter derives."""
    unit = unit_of(CONSTANT, SAME, token=ROW, tokens=SAME)
    text = f"""func.func private @derived_0() -> tensor<4x1x64xf32> attributes {{ttc.derived = "w"}} {{
      {expression}
      func.return %e : tensor<4x1x64xf32> }}"""
    function = next(iter(parse_unit(text).module.ops))
    function.detach()
    unit.module.body.block.add_op(function)
    return unit


EXPANDED = """%p = ttc.param() {sym = "token", value = #ttc.weight<"token", tensor<1x1x64xf32>>} : () -> tensor<1x1x64xf32>
      %e = nn.expand(%p) {shape = [4, 1, 64]} : (tensor<1x1x64xf32>) -> tensor<4x1x64xf32>"""
WHOLE = """%p = ttc.param() {sym = "tokens", value = #ttc.weight<"tokens", tensor<4x1x64xf32>>} : () -> tensor<4x1x64xf32>
      %e = nn.neg(%p) : (tensor<4x1x64xf32>) -> tensor<4x1x64xf32>"""


def test_an_expression_repeats_rows_whatever_its_parameters_are() -> None:
    unit = derived(EXPANDED)
    assert RepeatedRows(unit).has(leaf_of(unit), OUTERMOST, 4)
    unit = derived(WHOLE)  # equal as they are; with other parameters they need not be
    assert not RepeatedRows(unit).has(leaf_of(unit), OUTERMOST, 4)


def test_a_derived_tensor_is_cut_by_an_expression() -> None:
    unit = derived(EXPANDED)
    run_pass(StreamBatch(1), unit)
    leaf = leaf_of(unit)
    np.testing.assert_array_equal(leaf.array(unit.weights), ROW)
    function = derived_functions(unit.module)[leaf.key or ""]
    (rows,) = run(plain_block(function.body.block), [], lambda work: ROW + 1)
    np.testing.assert_array_equal(rows, ROW + 1)


@pytest.mark.parametrize("kind", [CONSTANT, PARAMETER])
def test_a_constant_is_cut_to_the_microbatch(kind: str) -> None:
    unit = unit_of(kind, SAME)
    report = run_pass(StreamBatch(1), unit)
    leaf = leaf_of(unit)
    assert isinstance(leaf, ConstantOp)
    assert spec_of(leaf.result.type).shape == (1, 1, 64)
    np.testing.assert_array_equal(leaf.array(unit.weights), ROW)
    (function,) = entry_functions(unit.module)
    assert [port.streamed for port in ports(function)[0]] == [OUTERMOST]
    assert [r.message for r in report.remarks] == [
        f"a constant holds the same rows for each of 4 samples: '{leaf.key}' those of 1",
        "a batch of 4 is streamed as 4 microbatches of 1",
    ]


def test_rows_that_differ_keep_the_batch_whole() -> None:
    unit = unit_of(CONSTANT, np.arange(256, dtype=np.float32).reshape(4, 1, 64))
    report = run_pass(StreamBatch(), unit)
    assert [r.message for r in report.remarks] == ["the batch of 4 is not streamed: nn.concat may mix samples"]


def test_numbers_of_an_exported_class_token(tmp_path: Path) -> None:
    """An ONNX model with a row that its exporter repeated for each sample is streamed, and computes the same."""
    onnx = pytest.importorskip("onnx")
    h, t = onnx.helper, onnx.TensorProto
    rng = np.random.default_rng(sum(b"exported class token"))
    token = np.repeat(rng.standard_normal((1, 1, 64), np.float32), 4, axis=0)
    weight = rng.standard_normal((64, 64), np.float32)
    nodes = [h.make_node("Concat", ["token", "x"], ["c"], axis=1), h.make_node("MatMul", ["c", "weight"], ["y"])]
    given = [onnx.numpy_helper.from_array(token, "token"), onnx.numpy_helper.from_array(weight, "weight")]
    ends = [h.make_tensor_value_info(name, t.FLOAT, shape) for name, shape in (("x", [4, 127, 64]), ("y", [4, 128, 64]))]
    model = h.make_model(h.make_graph(nodes, "g", ends[:1], ends[1:], given), opset_imports=[h.make_opsetid("", 18)])
    onnx.save(model, tmp_path / "token.onnx")
    program = ttc.compile(tmp_path / "token.onnx", target="n150")
    assert max(graph.input_count for graph in program.netlist.graphs.values()) == 4
    x = rng.standard_normal((4, 127, 64), np.float32)
    (y,) = ttc.Executor(program)(x)
    wanted = np.concatenate([token, x], axis=1) @ weight
    np.testing.assert_allclose(y, wanted, atol=1e-4 * np.abs(wanted).max())


@pytest.mark.parametrize("shape", ["64", "1x64", "1x1x64"])
def test_rows_that_are_expanded_from_as_many_elements(shape: str) -> None:
    """A vector of as many elements as there are samples is no row of each of them."""
    text = f"""func.func @forward(%x: tensor<64x2x64xf32> {{ttc.name = "x"}}) -> (tensor<64x3x64xf32> {{ttc.name = "y"}}) {{
      %w = ttc.param() {{sym = "w", value = #ttc.weight<"w", tensor<{shape}xf32>>}} : () -> tensor<{shape}xf32>
      %v = nn.expand(%w) {{shape = [64, 1, 64]}} : (tensor<{shape}xf32>) -> tensor<64x1x64xf32>
      %y = nn.concat(%v, %x) {{axis = 1}} : (tensor<64x1x64xf32>, tensor<64x2x64xf32>) -> tensor<64x3x64xf32>
      func.return %y : tensor<64x3x64xf32> }}"""
    unit = parse_unit(text)
    unit.weights.add_array("w", np.arange(64, dtype=np.float32).reshape([int(size) for size in shape.split("x")]))
    (function,) = entry_functions(unit.module)
    found = Carriers.of(function, RepeatedRows(unit).has)
    assert found.reason is None
    assert len(found.axes) == 3
