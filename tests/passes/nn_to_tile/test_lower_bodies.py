"""Regions of loops and branches in dialect tile: what they become, what stays, and the same numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.ir import Operation

from tests.passes.nn.test_regions import results as results_of_regions
from tests.passes.nn.test_regions import unit_of
from tests.passes.tiles import docstring, evaluate, parse
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.leaves import ConstantOp
from ttc.dialects.core.ir.to_plain import plain_block
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.netlist.check_work import check_function
from ttc.dialects.netlist.from_plain import function_block
from ttc.dialects.netlist.ops import YieldOp
from ttc.dialects.netlist.violations import Findings
from ttc.dialects.nn.control import BranchOp, ControlOp, LoopOp
from ttc.passes.base import Unit, Watcher
from ttc.passes.manager import run_pass
from ttc.passes.nn_to_tile.lower_bodies import LowerBodies

LOOP = """
    (%n: i64[], %x: f32[4, 64], %w: f32[64, 64])
    %one = ttc.constant() {value = #ttc.literal<[1.0], tensor<f32>>} : () -> f32[]
    %y, %s = nn.loop(%n, _, %x, %w, %one) {carried = 1} : (i64[], f32[4, 64], f32[64, 64], f32[]) -> (f32[4, 64], tensor<?x4x64xf32>) {
    ^bb0(%i: i64[], %a: f32[4, 64], %k: f32[64, 64], %u: f32[]):
      %p = nn.matmul(%a, %k, _) {transpose_a = false, transpose_b = false} : (f32[4, 64], f32[64, 64]) -> f32[4, 64]
      %q = nn.add(%p, %u) : (f32[4, 64], f32[]) -> f32[4, 64]
      %t = nn.tanh(%q) : (f32[4, 64]) -> f32[4, 64]
      %m = nn.mul(%t, %a) : (f32[4, 64], f32[4, 64]) -> f32[4, 64]
      nn.yield(%m, %a) : (f32[4, 64], f32[4, 64]) -> ()
    }
    return %y : f32[4, 64]
"""
BRANCH = """
    (%which: i64[], %x: f32[64, 64])
    %y = nn.branch(%which, %x) : (i64[], f32[64, 64]) -> f32[64, 64] {
    ^bb0(%a: f32[64, 64]):
      %0 = nn.exp(%a) : (f32[64, 64]) -> f32[64, 64]
      %1 = nn.neg(%0) : (f32[64, 64]) -> f32[64, 64]
      %2 = nn.abs(%1) : (f32[64, 64]) -> f32[64, 64]
      nn.yield(%2) : (f32[64, 64]) -> ()
    } {
    ^bb0(%a: f32[64, 64]):
      nn.yield(%a) : (f32[64, 64]) -> ()
    }
    return %y : f32[64, 64]
"""
NESTED = """
    (%n: i64[], %x: f32[64, 64])
    %y = nn.loop(%n, _, %x, %n) {carried = 1} : (i64[], f32[64, 64], i64[]) -> f32[64, 64] {
    ^bb0(%i: i64[], %a: f32[64, 64], %m: i64[]):
      %z = nn.loop(%m, _, %a) {carried = 1} : (i64[], f32[64, 64]) -> f32[64, 64] {
      ^bb0(%j: i64[], %b: f32[64, 64]):
        %0 = nn.sin(%b) : (f32[64, 64]) -> f32[64, 64]
        %1 = nn.cos(%0) : (f32[64, 64]) -> f32[64, 64]
        %2 = nn.neg(%1) : (f32[64, 64]) -> f32[64, 64]
        nn.yield(%2) : (f32[64, 64]) -> ()
      }
      nn.yield(%z) : (f32[64, 64]) -> ()
    }
    return %y : f32[64, 64]
"""


def inside(op: ControlOp, region: int = 0) -> list[str]:
    """Names of the ops of a region."""
    return [inner.name for inner in op.regions[region].block.ops]


def controls(unit: Unit) -> list[ControlOp]:
    """Ops with regions, outer ones first."""
    return [op for op in unit.module.walk() if isinstance(op, ControlOp)]


def lowered(fragment: str, target: str = "host") -> tuple[Unit, Sequence[NDArray], Sequence[NDArray]]:
    """A unit after the pass, and what it gave before and gives after it; whole, as an archive holds it, and as IR again."""
    unit = parse(fragment, target)
    rows = (4, 64) if fragment is LOOP else (64,)
    inputs = [np.array(3), *(np.linspace(-1, 1, 64 * n, dtype=np.float32).reshape(n, 64) for n in rows)]
    before = evaluate(unit, inputs)
    run_pass(LowerBodies(), unit)
    verify(unit.module)
    plain = plain_block(entry_functions(unit.module)[0].body.block)
    assert check_function(plain, "here", Findings())
    arguments = [a.type for a in entry_functions(unit.module)[0].body.block.args]
    assert plain_block(function_block(plain, arguments, YieldOp, on_host=True)) == plain
    return unit, before, evaluate(unit, inputs)


def test_docstring() -> None:
    docstring(LowerBodies(), "host")


@pytest.mark.parametrize("fragment", [LOOP, BRANCH, NESTED])
@pytest.mark.parametrize("target", ["host", "n150"])
def test_numbers_stay(fragment: str, target: str) -> None:
    _, before, after = lowered(fragment, target)
    for a, b in zip(before, after, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_a_loop_gets_kernels_on_rows_and_its_literals() -> None:
    (loop,) = controls(lowered(LOOP, "n150")[0])
    assert isinstance(loop, LoopOp)
    assert inside(loop) == ["tile.from_host", "tile.from_host", "tile.matmul", "tile.eltwise", "tile.to_host", "nn.yield"]
    assert loop.body.block.args[3].first_use is None
    assert str(loop.body.block.first_op.results[0].type).endswith('"rows">')  # pyright: ignore[reportOptionalMemberAccess]


def test_all_regions_of_a_branch_are_lowered() -> None:
    (branch,) = controls(lowered(BRANCH)[0])
    assert isinstance(branch, BranchOp)
    assert (inside(branch), inside(branch, 1)) == (["tile.from_host", "tile.eltwise", "tile.to_host", "nn.yield"], ["nn.yield"])


def test_what_holds_a_region_that_is_planned_is_planned() -> None:
    outer, inner = controls(lowered(NESTED)[0])
    assert "tile.eltwise" in inside(inner)
    assert inside(outer) == ["nn.loop", "nn.yield"]


def test_regions_of_few_ops_with_kernels_are_interpreted() -> None:
    """What grows has none: one product is not worth a plan."""
    unit = parse(
        """
        (%n: i64[], %x: f32[2, 2])
        %y, %s = nn.loop(%n, _, %x, %x) {carried = 1} : (i64[], f32[2, 2], f32[2, 2]) -> (tensor<?x2xf32>, tensor<?x2x2xf32>) {
        ^bb0(%i: i64[], %a: tensor<?x2xf32>, %k: f32[2, 2]):
          %0 = nn.matmul(%k, %k, _) {transpose_a = false, transpose_b = false} : (f32[2, 2], f32[2, 2]) -> f32[2, 2]
          %1 = nn.exp(%a) : (tensor<?x2xf32>) -> tensor<?x2xf32>
          %2 = nn.concat(%1, %0) {axis = 0} : (tensor<?x2xf32>, f32[2, 2]) -> tensor<?x2xf32>
          nn.yield(%2, %0) : (tensor<?x2xf32>, f32[2, 2]) -> ()
        }
        return %s : tensor<?x2x2xf32>
        """,
        "host",
    )
    report = run_pass(LowerBodies(), unit)
    (loop,) = controls(unit)
    assert inside(loop) == ["nn.matmul", "nn.exp", "nn.concat", "nn.yield"]
    assert "its regions are interpreted: too few of their ops have kernels" in [remark.message for remark in report.remarks]


NORM = """
    (%n: i64[], %x: f32[4, 4096])
    %r = nn.loop(%n, _, %x, %n) {carried = 1} : (i64[], f32[4, 4096], i64[]) -> f32[4, 4096] {
    ^bb0(%i0: i64[], %a0: f32[4, 4096], %m: i64[]):
      %y = nn.loop(%m, _, %a0) {carried = 1} : (i64[], f32[4, 4096]) -> f32[4, 4096] {
      ^bb0(%i: i64[], %a: f32[4, 4096]):
        %e = ttc.constant() {value = #ttc.literal<[0.0009765625], tensor<f32>>} : () -> f32[]
        %0 = nn.mul(%a, %a) : (f32[4, 4096], f32[4, 4096]) -> f32[4, 4096]
        %1 = nn.reduce_mean(%0) {axes = [1], keepdims = true} : (f32[4, 4096]) -> f32[4, 1]
        %2 = nn.add(%1, %e) : (f32[4, 1], f32[]) -> f32[4, 1]
        %3 = nn.sqrt(%2) : (f32[4, 1]) -> f32[4, 1]
        %4 = nn.div(%a, %3) : (f32[4, 4096], f32[4, 1]) -> f32[4, 4096]
        nn.yield(%4) : (f32[4, 4096]) -> ()
      }
      nn.yield(%y) : (f32[4, 4096]) -> ()
    }
    return %r : f32[4, 4096]
"""
"""A norm without a scale gets one of ones, too long for a literal."""
ROWS = np.linspace(-3, 3, 4 * 4096, dtype=np.float32).reshape(4, 4096)


def test_weights_that_steps_make_come_in_from_outside_of_all_regions() -> None:
    unit = parse(NORM, "host")
    before = evaluate(unit, [np.array(2), ROWS])
    run_pass(LowerBodies(), unit)
    verify(unit.module)
    loop, inner = controls(unit)
    assert isinstance(loop, LoopOp)
    assert isinstance(inner, LoopOp)
    assert isinstance(loop.values[-1].owner, ConstantOp)
    assert inside(inner) == ["tile.from_host", "tile.from_host", "tile.rms_norm", "tile.to_host", "nn.yield"]
    np.testing.assert_allclose(evaluate(unit, [np.array(2), ROWS])[0], before[0], atol=1e-5)


def test_a_rewrite_that_is_refused_leaves_all_regions_as_they_were() -> None:
    class Refusing(Watcher):
        def rewrite(self, name: str, op: Operation) -> bool:
            return name != "lower-bodies"

    unit = parse(NORM, "host")
    before = str(unit.module)
    run_pass(LowerBodies(), unit, [Refusing()])
    verify(unit.module)
    assert str(unit.module) == before


def test_a_region_with_images_keeps_what_it_gives() -> None:
    unit = unit_of("host")
    before = results_of_regions(unit)
    run_pass(LowerBodies(), unit)
    verify(unit.module)
    assert "tile.conv2d" in inside(controls(unit)[0])
    for a, b in zip(before, results_of_regions(unit), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
