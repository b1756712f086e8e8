"""Ops on rows of which data decide how many there are: which become blocks, which stay, and the same numbers for any number of rows."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.tiles import docstring, evaluate, parse
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.nn.blocks import RowBlocksOp
from ttc.passes.base import Unit
from ttc.passes.manager import run_pass
from ttc.passes.nn_to_tile.block_rows import BlockRows
from ttc.passes.nn_to_tile.lower_bodies import LowerBodies

NEIGHBOURS = """
    (%x: tensor<40x6xf32>, %keep: tensor<40xi1>, %w: tensor<6x5xf32>, %b: tensor<5xf32>)
    %0 = nn.compress(%x, %keep) {axis = 0} : (tensor<40x6xf32>, tensor<40xi1>) -> tensor<?x6xf32>
    %1 = nn.matmul(%0, %w, _) {transpose_a = false, transpose_b = false} : (tensor<?x6xf32>, tensor<6x5xf32>) -> tensor<?x5xf32>
    %2 = nn.add(%1, %b) : (tensor<?x5xf32>, tensor<5xf32>) -> tensor<?x5xf32>
    %3, %4 = nn.topk(%2) {axis = 1, k = 2, largest = false} : (tensor<?x5xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
    %5 = nn.gather(%b, %4) {axis = 0} : (tensor<5xf32>, tensor<?x2xi64>) -> tensor<?x2xf32>
    %s = nn.shape(%5) : (tensor<?x2xf32>) -> tensor<2xi64>
    %one = ttc.constant() {value = #ttc.literal<[1.0], tensor<f32>>} : () -> tensor<f32>
    %6 = nn.dynamic_expand(%one, %s) {sizes = [-1, 2]} : (tensor<f32>, tensor<2xi64>) -> tensor<?x2xf32>
    %7 = nn.add(%5, %6) : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
    %8 = nn.reduce_sum(%7) {axes = [1], keepdims = true} : (tensor<?x2xf32>) -> tensor<?x1xf32>
    %9 = nn.reshape(%8) {shape = [-1]} : (tensor<?x1xf32>) -> tensor<?xf32>
    return %9, %3 : tensor<?xf32>, tensor<?x2xf32>
"""
ALL_ROWS = """
    (%x: tensor<?x3xf32>, %y: tensor<?x3xf32>)
    %zero = ttc.constant() {value = #ttc.literal<[0], tensor<i64>>} : () -> tensor<i64>
    %one = ttc.constant() {value = #ttc.literal<[1], tensor<i64>>} : () -> tensor<i64>
    %s = nn.shape(%x) : (tensor<?x3xf32>) -> tensor<2xi64>
    %n = nn.slice(%s) {sizes = [1], starts = [0], steps = [1]} : (tensor<2xi64>) -> tensor<1xi64>
    %m = nn.reshape(%n) {shape = []} : (tensor<1xi64>) -> tensor<i64>
    %r = nn.range(%zero, %m, %one) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
    %i = nn.reshape(%r) {shape = [-1, 1]} : (tensor<?xi64>) -> tensor<?x1xi64>
    %a = nn.gather_nd(%VALUE, %i) {batch_dims = 0} : (tensor<?x3xf32>, tensor<?x1xi64>) -> tensor<?x3xf32>
    %b = nn.gather(%VALUE, %r) {axis = 0} : (tensor<?x3xf32>, tensor<?xi64>) -> tensor<?x3xf32>
    %c = nn.add(%a, %b) : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
    return %c : tensor<?x3xf32>
"""
MIXED = """
    (%x: tensor<?x2xf32>, %y: tensor<?x2xf32>)
    %0 = nn.exp(%x) : (tensor<?x2xf32>) -> tensor<?x2xf32>
    %1 = nn.neg(%0) : (tensor<?x2xf32>) -> tensor<?x2xf32>
    %2 = nn.OP : tensor<?x2xf32>
    %3 = nn.neg(%2) : (tensor<?x2xf32>) -> tensor<?x2xf32>
    %4 = nn.abs(%3) : (tensor<?x2xf32>) -> tensor<?x2xf32>
    return %4 : tensor<?x2xf32>
"""


def blocks(unit: Unit) -> list[RowBlocksOp]:
    return [op for op in unit.module.walk() if isinstance(op, RowBlocksOp)]


def names(unit: Unit) -> list[str]:
    (function,) = list(unit.module.body.block.ops)
    return [op.name for op in function.regions[0].block.ops]


def test_docstring() -> None:
    docstring(BlockRows(fewest=3, steps=(8, 4)), "host")


@pytest.mark.parametrize("target", ["host", "n150"])
@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 16, 23, 40])
def test_numbers_stay_for_any_number_of_rows(count: int, target: str, rng: np.random.Generator) -> None:
    keep = rng.permutation(np.arange(40) < count)
    shapes = ((40, 6), (6, 5), (5,))
    x, w, b = (rng.standard_normal(shape, np.float32) for shape in shapes)
    unit = parse(NEIGHBOURS, target)
    before = evaluate(unit, [x, keep, w, b])
    run_pass(BlockRows(steps=(12, 10)), unit)
    verify(unit.module)
    (made,) = blocks(unit)
    assert [region.block.args[0].type.get_shape()[0] for region in made.regions] == [2, 8]  # pyright: ignore[reportAttributeAccessIssue]
    assert names(unit).count("nn.shape") == 0
    run_pass(LowerBodies(), unit)
    for wanted, found in zip(before, evaluate(unit, [x, keep, w, b]), strict=True):
        assert wanted.shape == found.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("value", "left"), [("x", []), ("y", ["nn.gather_nd", "nn.gather"])])
def test_all_rows_in_order_are_the_value_itself(value: str, left: list[str], rng: np.random.Generator) -> None:
    unit = parse(ALL_ROWS.replace("VALUE", value), "host")
    x, y = rng.standard_normal((5, 3), np.float32), rng.standard_normal((7, 3), np.float32)
    before = evaluate(unit, [x, y])
    run_pass(BlockRows(), unit)
    verify(unit.module)
    assert [name for name in names(unit) if name.startswith("nn.gather")] == left
    np.testing.assert_array_equal(evaluate(unit, [x, y])[0], before[0])


@pytest.mark.parametrize(
    ("op", "ops"),
    [
        ("sin(%1) : (tensor<?x2xf32>) -> tensor<?x2xf32>", 5),
        ("softmax(%1) {axis = 1} : (tensor<?x2xf32>) -> tensor<?x2xf32>", 5),
        ("softmax(%1) {axis = 0} : (tensor<?x2xf32>) -> tensor<?x2xf32>", 0),
        ("add(%1, %y) : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>", 0),
        ("cumsum(%1) {axis = 0, exclusive = false, reverse = false} : (tensor<?x2xf32>) -> tensor<?x2xf32>", 0),
        ("concat(%1, %y) {axis = 0} : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>", 0),
    ],
)
def test_what_reads_other_rows_stays(op: str, ops: int) -> None:
    """A sum with rows of another value may be of one row with many."""
    unit = parse(MIXED.replace("nn.OP : tensor", f"nn.{op}").replace("tensor<?x2xf32><?x2xf32>", "tensor<?x2xf32>"), "host")
    report = run_pass(BlockRows(fewest=3), unit)
    verify(unit.module)
    assert [len(made.regions[0].block.ops) - 1 for made in blocks(unit)] == ([ops] if ops else [])
    few = "2 ops on rows of which data decide the number stay by themselves"
    assert (few in [remark.message for remark in report.remarks]) == (not ops)
