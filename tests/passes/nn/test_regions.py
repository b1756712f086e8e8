"""Branches and loops under all passes of stage nn: their regions stay as they are, and what they read stays alive."""

from __future__ import annotations

import numpy as np

from ttc.dialects.core.formats import format_named
from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.core.ir.to_plain import plain_block
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.core.plain import interpret
from ttc.dialects.core.plain.functions import Work
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.nn.base import dialect
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn_to_tile.stream_batch import StreamBatch
from ttc.passes.pipeline import stages

TEXT = """
func.func @forward(%x: tensor<2x3x4x4xf32> {ttc.name = "x"}, %n: tensor<i64> {ttc.name = "n"})
    -> (tensor<2x4x4x3xf32> {ttc.name = "y"}, tensor<?x2xf32> {ttc.name = "z"}, tensor<2xf32> {ttc.name = "v"}) {
  %w = ttc.param() {sym = "w", value = #ttc.weight<"w", tensor<3x3x1x1xf32>>} : () -> tensor<3x3x1x1xf32>
  %one = ttc.constant() {value = #ttc.literal<[1.0], tensor<f32>>} : () -> tensor<f32>
  %v0 = ttc.constant() {value = #ttc.literal<[1.0, 2.0], tensor<2xf32>>} : () -> tensor<2xf32>
  %same = nn.mul(%x, %one) : (tensor<2x3x4x4xf32>, tensor<f32>) -> tensor<2x3x4x4xf32>
  %c = nn.conv2d(%same, %w, _) {dilations = [1, 1], groups = 1, layout = "nchw", pads = [0, 0, 0, 0], strides = [1, 1]}
      : (tensor<2x3x4x4xf32>, tensor<3x3x1x1xf32>) -> tensor<2x3x4x4xf32>
  %r, %unused = nn.loop(%n, _, %c, %w, %one) {carried = 1}
      : (tensor<i64>, tensor<2x3x4x4xf32>, tensor<3x3x1x1xf32>, tensor<f32>) -> (tensor<2x3x4x4xf32>, tensor<?xi64>) {
  ^bb0(%i: tensor<i64>, %a: tensor<2x3x4x4xf32>, %k: tensor<3x3x1x1xf32>, %u: tensor<f32>):
    %f = ttc.constant() {value = #ttc.literal<[1.0], tensor<f32>>} : () -> tensor<f32>
    %p = nn.mul(%a, %f) : (tensor<2x3x4x4xf32>, tensor<f32>) -> tensor<2x3x4x4xf32>
    %dead = nn.exp(%a) : (tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
    %q = nn.conv2d(%p, %k, _) {dilations = [1, 1], groups = 1, layout = "nchw", pads = [0, 0, 0, 0], strides = [1, 1]}
        : (tensor<2x3x4x4xf32>, tensor<3x3x1x1xf32>) -> tensor<2x3x4x4xf32>
    %s = nn.relu(%q) : (tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
    nn.yield(%s, %i) : (tensor<2x3x4x4xf32>, tensor<i64>) -> ()
  }
  %y = nn.transpose(%r) {perm = [0, 2, 3, 1]} : (tensor<2x3x4x4xf32>) -> tensor<2x4x4x3xf32>
  %v, %z = nn.loop(%n, _, %v0) {carried = 1} : (tensor<i64>, tensor<2xf32>) -> (tensor<2xf32>, tensor<?x2xf32>) {
  ^bb0(%i: tensor<i64>, %a: tensor<2xf32>):
    %d = nn.add(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    nn.yield(%d, %d) : (tensor<2xf32>, tensor<2xf32>) -> ()
  }
  %v2, %z2 = nn.loop(%n, _, %v0) {carried = 1} : (tensor<i64>, tensor<2xf32>) -> (tensor<2xf32>, tensor<?x2xf32>) {
  ^bb0(%i: tensor<i64>, %a: tensor<2xf32>):
    %d = nn.mul(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    nn.yield(%d, %d) : (tensor<2xf32>, tensor<2xf32>) -> ()
  }
  %v3, %z3 = nn.loop(_, _, %v0) {carried = 1, length = 3} : (tensor<2xf32>) -> (tensor<2xf32>, tensor<3x2xf32>) {
  ^bb0(%i: tensor<i64>, %a: tensor<2xf32>):
    nn.yield(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> ()
  }
  %sum = nn.add(%v, %v2) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %y, %z, %sum : tensor<2x4x4x3xf32>, tensor<?x2xf32>, tensor<2xf32>
}
"""
W = np.linspace(-0.5, 1, 9, dtype=np.float32).reshape(3, 3, 1, 1)


def unit_of(target: str) -> Unit:
    weights = WeightStore()
    weights.add_array("w", W)
    module = parse_module(TEXT, "text", [dialect])
    verify(module)
    return Unit(module, weights, load_target(target))


def results(unit: Unit) -> list[np.ndarray]:
    """What the function gives for one input."""

    def resolve(work: Work) -> np.ndarray:
        return format_named(work.results[0].format).unpack(unit.weights[str(work.attrs["key"])].value())

    x = np.linspace(-1, 1, 96, dtype=np.float32).reshape(2, 3, 4, 4)
    plain = plain_block(entry_functions(unit.module)[0].body.block)
    return interpret.run(plain, [x, np.array(3)], resolve)


def apply(pass_: Pass, unit: Unit) -> Rewriter:
    rewriter = Rewriter(type(pass_).name)
    pass_.apply(unit, rewriter)
    verify(unit.module)
    return rewriter


def test_every_pass_keeps_what_they_give() -> None:
    unit = unit_of("n150")
    wanted = results(unit)
    np.testing.assert_allclose(wanted[1], [[2, 4], [4, 8], [8, 16]])
    for pass_ in stages(unit.target)["nn"]:
        apply(pass_, unit)
        for y, want in zip(results(unit), wanted, strict=True):
            np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-6)
    text = print_op(unit.module, locations=False)
    assert text.count("nn.loop(") == 3  # loops that differ in their bodies alone are not merged; the unused one is gone
    assert "nn.exp" not in text
    assert text.count('layout = "nchw"') == 1  # the one in the loop: regions are not laid out anew


def test_a_batch_that_goes_through_a_loop_is_not_streamed() -> None:
    unit = unit_of("n150")
    rewriter = apply(StreamBatch(), unit)
    assert [r.message for r in rewriter.report.remarks] == [
        "the batch of 2 is not streamed: nn.loop may mix samples: its body is not looked into"
    ]
