"""Ops of modules as a page lists them."""

from __future__ import annotations

from ttc.compiler.source import dialects
from ttc.dialects.core.ir.parsing import parse_module
from ttc.view.module_ops import module_ops

IR = """
builtin.module attributes {ttc.model = "m", ttc.stage = "nn"} {
  func.func @forward(%0: tensor<2x4xf32> {ttc.name = "x"}) -> (tensor<2x4xf32> {ttc.name = "y"}) {
    %1 = ttc.constant() {value = #ttc.literal<[2.0], tensor<1xf32>>} : () -> tensor<1xf32> loc("c")
    %2 = nn.add(%0, %1) : (tensor<2x4xf32>, tensor<1xf32>) -> tensor<2x4xf32> loc(fused["/a", "/b"])
    %3 = nn.softmax(%2) {axis = 1} : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("/s")
    func.return %3 : tensor<2x4xf32>
  }
}
"""


def test_ops_inputs_and_outputs_in_order() -> None:
    found = module_ops(parse_module(IR, "m.mlir", dialects()))
    assert [(op["name"], op["kind"], op.get("inputs", [])) for op in found] == [
        ("input", "input", []),
        ("nn.add", "op", [0]),
        ("nn.softmax", "op", [1]),
        ("output", "output", [2]),
    ]
    assert found[1]["sources"] == ["/a", "/b"]
    assert found[1]["weights"] == ["a literal"]
    assert found[2]["attributes"] == {"axis": "1"}
    assert found[2]["type"] == "2x4 Float32"
    assert {op["function"] for op in found} == {"forward"}
