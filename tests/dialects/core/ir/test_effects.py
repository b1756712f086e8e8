"""What xDSL is told of our ops."""

from __future__ import annotations

from xdsl.traits import is_side_effect_free

from ttc.compiler.source import dialects
from ttc.dialects.core.ir.parsing import parse_module

EFFECTS = """
func.func @forward(%which: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = nn.probe(%0) {label = "h"} : (tensor<2xf32>) -> tensor<2xf32>
  %2 = nn.branch(%which, %1) : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%a: tensor<2xf32>):
    nn.yield(%a) : (tensor<2xf32>) -> ()
  } {
  ^bb0(%b: tensor<2xf32>):
    %3 = nn.neg(%b) : (tensor<2xf32>) -> tensor<2xf32>
    nn.yield(%3) : (tensor<2xf32>) -> ()
  }
  %4 = nn.branch(%which, %2) : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%c: tensor<2xf32>):
    nn.yield(%c) : (tensor<2xf32>) -> ()
  } {
  ^bb0(%d: tensor<2xf32>):
    %5 = nn.probe(%d) {label = "inside"} : (tensor<2xf32>) -> tensor<2xf32>
    nn.yield(%5) : (tensor<2xf32>) -> ()
  }
  func.return %4 : tensor<2xf32>
}
"""


def test_ops_have_the_effects_that_their_classes_declare() -> None:
    module = parse_module(EFFECTS, "effects.mlir", dialects())
    found = [(op.name, is_side_effect_free(op)) for op in module.walk() if op.name in ("nn.relu", "nn.probe", "nn.branch")]
    assert found == [("nn.relu", True), ("nn.probe", False), ("nn.branch", True), ("nn.branch", False), ("nn.probe", False)]
