"""Tests of the pass in passes/nn/consteval.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr

from ttc.dialects.core.ir.entries import Port, derived_functions, entry_functions
from ttc.dialects.core.ir.leaves import LeafOp
from ttc.dialects.core.ir.to_plain import plain_block
from ttc.dialects.core.ir.verification import verify
from ttc.passes.manager import run_pass
from ttc.passes.nn.consteval import Consteval

if TYPE_CHECKING:
    from tests.passes.conftest import Harness

PARAM = '%w = ttc.param() {sym = "w", value = #ttc.weight<"w", tensor<4x8xf32>>} : () -> tensor<4x8xf32>'
TWO_USES = f"""(%x: tensor<4x8xf32>)
    {PARAM}
    %0 = nn.exp(%w) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = nn.neg(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %2 = nn.add(%x, %0) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %3 = nn.add(%2, %1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %3 : tensor<4x8xf32>"""


def test_docstring(harness: Harness) -> None:
    harness.docstring(Consteval())


def test_expressions_of_parameters_are_derived_tensors(harness: Harness) -> None:
    outcome = harness.numbers(Consteval(), TWO_USES, tolerance=0.0)
    functions = derived_functions(outcome.unit.module)
    assert len(functions) == 2
    for key, function in functions.items():
        weight = outcome.unit.weights[key]
        assert weight.derived
        assert {op.name for op in function.body.block.ops} <= {"ttc.param", "nn.exp", "nn.neg", "func.return"}
        assert len(plain_block(function.body.block).inputs) == 0
    assert outcome.count("exp") == outcome.count("neg") == 0


def test_values_are_computed_when_asked_for_and_the_same_every_time(harness: Harness) -> None:
    values: list[bytes] = []
    for _ in range(2):
        outcome = harness.run(Consteval(), TWO_USES)
        (key,) = [k for k, f in derived_functions(outcome.unit.module).items() if any(op.name == "nn.neg" for op in f.walk())]
        values.append(outcome.unit.weights[key].value().tobytes())
        np.testing.assert_array_equal(outcome.unit.weights[key].value(), -np.exp(outcome.unit.weights["w"].value()))
    assert values[0] == values[1]


def test_small_values_that_depend_on_a_parameter_are_no_literals(harness: Harness) -> None:
    outcome = harness.numbers(
        Consteval(),
        """(%x: tensor<4xf32>)
        %w = ttc.param() {sym = "w", value = #ttc.weight<"w", tensor<4xf32>>} : () -> tensor<4xf32>
        %0 = nn.exp(%w) : (tensor<4xf32>) -> tensor<4xf32>
        %1 = nn.add(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        return %1 : tensor<4xf32>""",
    )
    assert len(derived_functions(outcome.unit.module)) == 1


def test_blow_ups_stay_but_what_they_expand_is_evaluated(harness: Harness) -> None:
    outcome = harness.numbers(
        Consteval(),
        f"""(%x: tensor<4x8xf32>)
        {PARAM}
        %0 = nn.exp(%w) : (tensor<4x8xf32>) -> tensor<4x8xf32>
        %1 = nn.expand(%0) {{shape = [64, 4, 8]}} : (tensor<4x8xf32>) -> tensor<64x4x8xf32>
        %2 = nn.add(%x, %1) : (tensor<4x8xf32>, tensor<64x4x8xf32>) -> tensor<64x4x8xf32>
        return %2 : tensor<64x4x8xf32>""",
    )
    assert (outcome.count("expand"), outcome.count("exp")) == (1, 0)
    assert outcome.missed() == ["the value has 8192 bytes, what it is made of 128"]


def test_blow_ups_become_constants_where_they_are_asked_for(harness: Harness) -> None:
    fragment = f"""(%x: tensor<64x4x8xf32>)
        {PARAM}
        %0 = nn.expand(%w) {{shape = [64, 4, 8]}} : (tensor<4x8xf32>) -> tensor<64x4x8xf32>
        %1 = nn.add(%x, %0) : (tensor<64x4x8xf32>, tensor<64x4x8xf32>) -> tensor<64x4x8xf32>
        return %1 : tensor<64x4x8xf32>"""
    assert harness.numbers(Consteval(), fragment, tolerance=0.0).count("expand") == 1
    assert harness.numbers(Consteval(any_size=True), fragment, tolerance=0.0).count("expand") == 0


def test_runs_compose(harness: Harness) -> None:
    outcome = harness.run(Consteval(), TWO_USES)
    unit = outcome.unit
    (function,) = [op for op in unit.module.ops if "ttc.derived" not in op.attributes]
    constant = next(op for op in function.walk() if op.name == "ttc.constant")
    adding: Any = next(op for op in function.walk() if op.name == "nn.add")
    copy = type(adding).build(constant.results[0], constant.results[0], location=adding.location)
    adding.parent.insert_op_before(copy, adding)
    adding.operands[0] = copy.results[0]
    before = harness.evaluate(unit, [np.ones((4, 8), np.float32)])
    run_pass(Consteval(), unit)
    verify(unit.module)
    np.testing.assert_array_equal(harness.evaluate(unit, [np.ones((4, 8), np.float32)])[0], before[0])
    names = {op.key for f in derived_functions(unit.module).values() for op in f.walk() if isinstance(op, LeafOp)}
    assert names == {"w"}


def test_equal_expressions_share_one_tensor_and_unused_functions_go(harness: Harness) -> None:
    fragment = f"""(%x: tensor<4x8xf32>)
        {PARAM}
        %v = ttc.param() {{sym = "w", value = #ttc.weight<"w", tensor<4x8xf32>>}} : () -> tensor<4x8xf32>
        %0 = nn.exp(%w) : (tensor<4x8xf32>) -> tensor<4x8xf32>
        %1 = nn.exp(%v) : (tensor<4x8xf32>) -> tensor<4x8xf32>
        %2 = nn.add(%x, %0) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
        %3 = nn.add(%2, %1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
        return %3 : tensor<4x8xf32>"""
    outcome = harness.numbers(Consteval(), fragment)
    assert len(derived_functions(outcome.unit.module)) == 1
    for op in list(outcome.unit.module.walk()):
        if op.name == "nn.add":
            op.operands = [op.operands[0], op.operands[0]]
    run_pass(Consteval(), outcome.unit)
    assert derived_functions(outcome.unit.module) == {}


def test_failing_evaluation_stays_in_the_graph(harness: Harness) -> None:
    outcome = harness.run(
        Consteval(),
        """(%x: tensor<2xf32>)
        %0 = ttc.constant() {value = #ttc.literal<[1.0, 2.0], tensor<2xf32>>} : () -> tensor<2xf32>
        %1 = ttc.constant() {value = #ttc.literal<[7], tensor<1xi64>>} : () -> tensor<1xi64>
        %2 = nn.gather(%0, %1) {axis = 0} : (tensor<2xf32>, tensor<1xi64>) -> tensor<1xf32>
        return %2 : tensor<1xf32>""",
    )
    assert outcome.count("gather") == 1
    assert outcome.missed()[0].startswith("evaluation fails: ")


def test_half_precision_values_keep_their_dtype(harness: Harness) -> None:
    outcome = harness.numbers(
        Consteval(),
        """(%x: tensor<32xbf16>)
        %w = ttc.param() {sym = "w", value = #ttc.weight<"w", tensor<32xbf16>>} : () -> tensor<32xbf16>
        %0 = nn.exp(%w) : (tensor<32xbf16>) -> tensor<32xbf16>
        return %0 : tensor<32xbf16>""",
    )
    (key,) = derived_functions(outcome.unit.module)
    assert str(outcome.unit.weights[key].value().dtype) == "bfloat16"


def test_parameters_that_are_updated_are_not_constant(harness: Harness) -> None:
    unit = harness.parse(TWO_USES)
    (function,) = entry_functions(unit.module)
    function.res_attrs = ArrayAttr([Port("y0", updates="w").attribute()])
    run_pass(Consteval(), unit)
    assert derived_functions(unit.module) == {}
    assert [op.name for op in function.walk()].count("nn.exp") == 1
