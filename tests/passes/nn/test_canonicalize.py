"""Tests of the pass in passes/nn/canonicalize.py and of its rules."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from xdsl.ir import Operation

from ttc.passes.base import Watcher
from ttc.passes.nn.canonicalize import Canonicalize

if TYPE_CHECKING:
    from tests.passes.conftest import Harness

SCALAR = "ttc.constant() {value = #ttc.literal<[%s], tensor<f32>>} : () -> tensor<f32>"


def test_docstring(harness: Harness) -> None:
    harness.docstring(Canonicalize())


def arithmetic(op: str, number: str, *, swapped: bool = False) -> str:
    """x op number, as a fragment."""
    operands, types = ("%c, %x", "tensor<f32>, tensor<4xf32>") if swapped else ("%x, %c", "tensor<4xf32>, tensor<f32>")
    return f"""(%x: tensor<4xf32>)
        %c = {SCALAR % number}
        %0 = nn.{op}({operands}) : ({types}) -> tensor<4xf32>
        return %0 : tensor<4xf32>"""


@pytest.mark.parametrize(("op", "number"), [("mul", "1.0"), ("div", "1.0"), ("sub", "0.0"), ("add", "-0.0"), ("pow", "1.0")])
def test_neutral_numbers_vanish(harness: Harness, op: str, number: str) -> None:
    harness.same(Canonicalize(), arithmetic(op, number), "(%x: tensor<4xf32>)\nreturn %x : tensor<4xf32>")


@pytest.mark.parametrize(("op", "number"), [("add", "0.0"), ("sub", "-0.0"), ("mul", "0.0"), ("div", "2.0")])
def test_what_changes_a_bit_stays(harness: Harness, op: str, number: str) -> None:
    harness.unchanged(Canonicalize(), arithmetic(op, number))


def test_neutral_factor_is_found_on_either_side_but_not_on_the_left_of_a_division(harness: Harness) -> None:
    assert harness.run(Canonicalize(), arithmetic("mul", "1.0", swapped=True)).count("mul") == 0
    assert harness.run(Canonicalize(), arithmetic("div", "1.0", swapped=True)).count("div") == 1


def test_broadcasting_factor_of_one_stays(harness: Harness) -> None:
    harness.unchanged(
        Canonicalize(),
        """(%x: tensor<1xf32>)
        %c = ttc.constant() {value = #ttc.literal<[1.0, 1.0], tensor<2xf32>>} : () -> tensor<2xf32>
        %0 = nn.mul(%x, %c) : (tensor<1xf32>, tensor<2xf32>) -> tensor<2xf32>
        return %0 : tensor<2xf32>""",
    )


def test_parameters_are_not_looked_into(harness: Harness) -> None:
    fragment = """(%x: tensor<2xf32>)
        %c = ttc.param() {sym = "w", value = #ttc.weight<"w", tensor<2xf32>>} : () -> tensor<2xf32>
        %0 = nn.mul(%x, %c) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
        return %0 : tensor<2xf32>"""
    harness.unchanged(Canonicalize(), fragment, {"w": np.ones(2)})


def test_views_that_move_nothing_vanish(harness: Harness) -> None:
    harness.same(
        Canonicalize(),
        """(%x: tensor<2x3xf32>)
        %0 = nn.identity(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
        %1 = nn.reshape(%0) {shape = [2, 3]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
        %2 = nn.transpose(%1) {perm = [0, 1]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
        %3 = nn.slice(%2) {sizes = [2, 3], starts = [0, 0], steps = [1, 1]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
        %4 = nn.cast(%3) {dtype = f32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
        %5 = nn.expand(%4) {shape = [2, 3]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
        %6 = nn.neg(%5) : (tensor<2x3xf32>) -> tensor<2x3xf32>
        %7 = nn.neg(%6) : (tensor<2x3xf32>) -> tensor<2x3xf32>
        %8 = nn.concat(%7) {axis = 0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
        return %8 : tensor<2x3xf32>""",
        "(%x: tensor<2x3xf32>)\nreturn %x : tensor<2x3xf32>",
    )


def test_reversed_slice_stays(harness: Harness) -> None:
    harness.unchanged(
        Canonicalize(),
        """(%x: tensor<3xf32>)
        %0 = nn.slice(%x) {sizes = [3], starts = [2], steps = [-1]} : (tensor<3xf32>) -> tensor<3xf32>
        return %0 : tensor<3xf32>""",
    )


def test_views_of_views_merge(harness: Harness) -> None:
    harness.same(
        Canonicalize(),
        """(%x: tensor<2x3x4xf32>)
        %0 = nn.transpose(%x) {perm = [1, 2, 0]} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
        %1 = nn.transpose(%0) {perm = [1, 0, 2]} : (tensor<3x4x2xf32>) -> tensor<4x3x2xf32>
        %2 = nn.reshape(%1) {shape = [24]} : (tensor<4x3x2xf32>) -> tensor<24xf32>
        %3 = nn.reshape(%2) {shape = [6, 4]} : (tensor<24xf32>) -> tensor<6x4xf32>
        return %3 : tensor<6x4xf32>""",
        """(%x: tensor<2x3x4xf32>)
        %1 = nn.transpose(%x) {perm = [2, 1, 0]} : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
        %3 = nn.reshape(%1) {shape = [6, 4]} : (tensor<4x3x2xf32>) -> tensor<6x4xf32>
        return %3 : tensor<6x4xf32>""",
    )


def test_transpose_of_unit_dimensions_is_a_reshape(harness: Harness) -> None:
    harness.same(
        Canonicalize(),
        """(%x: tensor<1x1x4x5xf32>)
        %0 = nn.transpose(%x) {perm = [0, 2, 3, 1]} : (tensor<1x1x4x5xf32>) -> tensor<1x4x5x1xf32>
        return %0 : tensor<1x4x5x1xf32>""",
        """(%x: tensor<1x1x4x5xf32>)
        %0 = nn.reshape(%x) {shape = [1, 4, 5, 1]} : (tensor<1x1x4x5xf32>) -> tensor<1x4x5x1xf32>
        return %0 : tensor<1x4x5x1xf32>""",
    )


def test_reshape_that_splits_otherwise_is_no_transpose(harness: Harness) -> None:
    harness.unchanged(
        Canonicalize(),
        """(%x: tensor<4x6xf32>)
        %0 = nn.reshape(%x) {shape = [8, 3]} : (tensor<4x6xf32>) -> tensor<8x3xf32>
        %1 = nn.transpose(%0) {perm = [1, 0]} : (tensor<8x3xf32>) -> tensor<3x8xf32>
        %2 = nn.reshape(%1) {shape = [6, 4]} : (tensor<3x8xf32>) -> tensor<6x4xf32>
        return %2 : tensor<6x4xf32>""",
    )


def test_reshapes_around_a_matmul_of_rows_cancel(harness: Harness) -> None:
    harness.same(
        Canonicalize(),
        """(%x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>)
        %0 = nn.reshape(%x) {shape = [6, 4]} : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
        %1 = nn.matmul(%0, %w, _) {transpose_a = false, transpose_b = false} : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
        %2 = nn.reshape(%1) {shape = [2, 3, 5]} : (tensor<6x5xf32>) -> tensor<2x3x5xf32>
        return %2 : tensor<2x3x5xf32>""",
        """(%x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>)
        %1 = nn.matmul(%x, %w, _) {transpose_a = false, transpose_b = false} : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
        return %1 : tensor<2x3x5xf32>""",
    )


def test_cast_there_and_back_only_through_a_wider_type(harness: Harness) -> None:
    def fragment(wide: str) -> str:
        return f"""(%x: tensor<4xf32>)
        %0 = nn.cast(%x) {{dtype = {wide}}} : (tensor<4xf32>) -> tensor<4x{wide}>
        %1 = nn.cast(%0) {{dtype = f32}} : (tensor<4x{wide}>) -> tensor<4xf32>
        return %1 : tensor<4xf32>"""

    assert harness.numbers(Canonicalize(), fragment("f64")).count("cast") == 0
    assert harness.numbers(Canonicalize(), fragment("f16")).count("cast") == 2


def test_expanded_operands_are_left_to_broadcasting(harness: Harness) -> None:
    harness.same(
        Canonicalize(),
        """(%x: tensor<2x3xf32>, %y: tensor<1x3xf32>)
        %0 = nn.expand(%y) {shape = [2, 3]} : (tensor<1x3xf32>) -> tensor<2x3xf32>
        %1 = nn.exp(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
        %2 = nn.add(%x, %1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
        return %2 : tensor<2x3xf32>""",
        """(%x: tensor<2x3xf32>, %y: tensor<1x3xf32>)
        %1 = nn.exp(%y) : (tensor<1x3xf32>) -> tensor<1x3xf32>
        %2 = nn.add(%x, %1) : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
        return %2 : tensor<2x3xf32>""",
    )


def test_known_conditions_decide(harness: Harness) -> None:
    fragment = """(%x: tensor<1x3xf32>, %y: tensor<2x1xf32>, %p: tensor<1x3xi1>)
        %c = ttc.constant() {value = #ttc.weight<"c", tensor<2x1xi1>>} : () -> tensor<2x1xi1>
        %0 = nn.and(%c, %p) : (tensor<2x1xi1>, tensor<1x3xi1>) -> tensor<2x3xi1>
        %1 = nn.where(%c, %x, %y) : (tensor<2x1xi1>, tensor<1x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
        return %0, %1 : tensor<2x3xi1>, tensor<2x3xf32>"""
    decided = harness.numbers(Canonicalize(), fragment, {"c": np.ones((2, 1))})
    assert (decided.count("where"), decided.count("and"), decided.count("expand")) == (0, 0, 2)
    assert harness.numbers(Canonicalize(), fragment, {"c": np.array([[1], [0]])}).count("where") == 1
    assert harness.numbers(Canonicalize(), fragment, {"c": np.zeros((2, 1))}).count("where") == 0


@pytest.mark.parametrize(
    ("table", "rows", "fewer"), [([1, 0, 2], "3x2", True), ([-1, 0, 0], "3x2", True), ([1, 0, 3], "3x2", False), ([0, 0, 0], "3", True)]
)
def test_rows_at_places_of_a_table_are_rows_of_a_constant(harness: Harness, table: list[int], rows: str, fewer: bool) -> None:
    """A place that the rows do not have fails when it is asked for, not before."""
    result = f"tensor<4{rows[1:]}xf32>"
    outcome = harness.numbers(
        Canonicalize(),
        f"""
        (%i: tensor<4xi64>)
        %t = ttc.constant() {{value = #ttc.literal<{table}, tensor<3xi64>>}} : () -> tensor<3xi64>
        %r = ttc.constant() {{value = #ttc.weight<"r", tensor<{rows}xf32>>}} : () -> tensor<{rows}xf32>
        %0 = nn.gather(%t, %i) {{axis = 0}} : (tensor<3xi64>, tensor<4xi64>) -> tensor<4xi64>
        %1 = nn.gather(%r, %0) {{axis = 0}} : (tensor<{rows}xf32>, tensor<4xi64>) -> {result}
        return %1 : {result}
        """,
    )
    last = [line for line in outcome.text.splitlines() if "nn.gather" in line][-1]
    assert ("%0" in last) == fewer  # the input itself is what the last one asks by


def gather(kind: str, attrs: str, indices: np.ndarray, result: str) -> str:
    """A gather from x[2, 4, 3] with constant indices, as a fragment."""
    type_ = f"tensor<{'x'.join(map(str, indices.shape))}xi64>"
    return f"""(%x: tensor<2x4x3xf32>)
        %i = ttc.constant() {{value = #ttc.weight<"i", {type_}>}} : () -> {type_}
        %0 = nn.{kind}(%x, %i) {{{attrs}}} : (tensor<2x4x3xf32>, {type_}) -> tensor<{result}xf32>
        return %0 : tensor<{result}xf32>"""


@pytest.mark.parametrize(
    ("kind", "attrs", "indices", "result", "ops"),
    [
        ("gather", "axis = 1", np.arange(4), "2x4x3", []),
        ("gather", "axis = 1", np.array([-3, -2]), "2x2x3", ["slice"]),
        ("gather", "axis = 1", np.arange(4).reshape(2, 2), "2x2x2x3", ["reshape"]),
        ("gather", "axis = 1", np.array([[2, 2, 2]]), "2x1x3x3", ["expand", "reshape", "slice"]),
        ("gather", "axis = 1", np.array([0, 2]), "2x2x3", ["gather"]),
        ("gather_elements", "axis = 2", np.broadcast_to([1, 2], (1, 4, 2)), "1x4x2", ["slice"]),
        ("gather_elements", "axis = 2", np.array([[[1], [2], [0], [0]]]), "1x4x1", ["gather_elements"]),
        ("gather_nd", "batch_dims = 0", np.argwhere(np.ones((2, 4))).reshape(4, 2, 2), "4x2x3", ["reshape"]),
        ("gather_nd", "batch_dims = 0", np.array([[0, 3], [1, 0]]), "2x3", ["reshape", "slice"]),
        ("gather_nd", "batch_dims = 0", np.array([[1, 0], [0, 3]]), "2x3", ["gather_nd"]),
    ],
)
def test_gathers_in_order_are_slices(harness: Harness, kind: str, attrs: str, indices: np.ndarray, result: str, ops: list[str]) -> None:
    outcome = harness.numbers(Canonicalize(), gather(kind, attrs, indices, result), {"i": indices}, 0.0)
    found = {line.split(" = nn.")[1].split("(")[0] for line in outcome.text.splitlines() if " = nn." in line}
    assert sorted(found) == ops


@pytest.mark.parametrize(
    ("samples", "rows", "left"),
    [([0, 1], [0, 1, 2, 3], []), ([0, 1], [3, -1, 1, 0], ["batch_dims = 1"]), ([1, 0], [3, -1, 1, 0], ["batch_dims = 0"])],
)
def test_places_in_samples_that_are_joined(harness: Harness, samples: list[int], rows: list[int], left: list[str]) -> None:
    """Places that run through x need no gather; those in each sample's own rows are shared by sample."""
    outcome = harness.numbers(
        Canonicalize(),
        """(%x: tensor<2x4x3xf32>)
        %s = ttc.constant() {value = #ttc.weight<"s", tensor<2xi64>>} : () -> tensor<2xi64>
        %r = ttc.constant() {value = #ttc.weight<"r", tensor<4xi64>>} : () -> tensor<4xi64>
        %0 = nn.reshape(%s) {shape = [2, 1, 1]} : (tensor<2xi64>) -> tensor<2x1x1xi64>
        %1 = nn.expand(%0) {shape = [2, 4, 1]} : (tensor<2x1x1xi64>) -> tensor<2x4x1xi64>
        %2 = nn.reshape(%r) {shape = [1, 4, 1]} : (tensor<4xi64>) -> tensor<1x4x1xi64>
        %3 = nn.expand(%2) {shape = [2, 4, 1]} : (tensor<1x4x1xi64>) -> tensor<2x4x1xi64>
        %4 = nn.concat(%1, %3) {axis = 2} : (tensor<2x4x1xi64>, tensor<2x4x1xi64>) -> tensor<2x4x2xi64>
        %5 = nn.gather_nd(%x, %4) {batch_dims = 0} : (tensor<2x4x3xf32>, tensor<2x4x2xi64>) -> tensor<2x4x3xf32>
        return %5 : tensor<2x4x3xf32>""",
        {"s": np.array(samples), "r": np.array(rows)},
        0.0,
    )
    assert re.findall("batch_dims = .", outcome.text) == left


def test_equal_ops_are_computed_once_and_unused_ones_never(harness: Harness) -> None:
    harness.same(
        Canonicalize(),
        """(%x: tensor<4xf32>)
        %0 = nn.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
        %1 = nn.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
        %2 = nn.leaky_relu(%0) {alpha = 0.5} : (tensor<4xf32>) -> tensor<4xf32>
        %3 = nn.leaky_relu(%1) {alpha = 0.25} : (tensor<4xf32>) -> tensor<4xf32>
        %4 = nn.log(%3) : (tensor<4xf32>) -> tensor<4xf32>
        %5 = nn.add(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        return %2, %5 : tensor<4xf32>, tensor<4xf32>""",
        """(%x: tensor<4xf32>)
        %0 = nn.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
        %2 = nn.leaky_relu(%0) {alpha = 0.5} : (tensor<4xf32>) -> tensor<4xf32>
        %5 = nn.add(%0, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        return %2, %5 : tensor<4xf32>, tensor<4xf32>""",
    )


def test_instruments_can_refuse_a_rule(harness: Harness) -> None:
    class RefuseTimesOne(Watcher):
        def rewrite(self, name: str, op: Operation) -> bool:
            return name != "times-one"

    outcome = harness.run(Canonicalize(), arithmetic("mul", "1.0"), instruments=[RefuseTimesOne()])
    assert outcome.count("mul") == 1
    assert outcome.report.rewrites["times-one"] == 0


def test_long_dead_chains_are_dropped(harness: Harness) -> None:
    lines = [f"%{i + 1} = nn.exp(%{i if i else 'x'}) : (tensor<2xf32>) -> tensor<2xf32>" for i in range(2000)]
    outcome = harness.run(Canonicalize(), "\n".join(["(%x: tensor<2xf32>)", *lines, "return %x : tensor<2xf32>"]))
    assert outcome.report.rewrites["drop-unused"] == 2000


def test_states_that_nothing_reads_stay(harness: Harness) -> None:
    outcome = harness.run(
        Canonicalize(),
        """(%x: tensor<2xf32>)
        %s = ttc.state() {sym = "s", value = #ttc.literal<[0.0, 0.0], tensor<2xf32>>} : () -> tensor<2xf32>
        return %x : tensor<2xf32>""",
    )
    assert outcome.report.rewrites["drop-unused"] == 0
