"""Names of ops and parameters say which op of an imported program is of which stage."""

from __future__ import annotations

import pytest

from ttc.compiler.source import dialects
from ttc.dialects.core.errors import Error, TtcWarning
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.locations import source_names
from ttc.dialects.core.ir.parsing import parse_module
from ttc.stages.named import is_leaf, stages_by_name

TEXT = """builtin.module attributes {ttc.model = "m", ttc.stage = "import", ttc.seed = 3} {
  func.func @forward(%0: tensor<4x4xf32> {ttc.name = "x"}) -> (tensor<4x4xf32> {ttc.name = "y"}) {
    %1 = ttc.param() {sym = "layers.0.weight", value = #ttc.weight<"layers.0.weight", tensor<4x4xf32>>} : () -> tensor<4x4xf32>
    %2 = ttc.param() {sym = "layers.1.weight", value = #ttc.weight<"layers.1.weight", tensor<4x4xf32>>} : () -> tensor<4x4xf32>
    %3 = nn.matmul(%0, %1, _) {transpose_a = false, transpose_b = true} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("p")
    %4 = nn.tanh(%3) : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("/body/body.0/act/Tanh")
    %5 = nn.matmul(%4, %2, _) {transpose_a = false, transpose_b = true} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("q")
    %6 = nn.relu(%5) : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("model_1/body/last/Relu")
    %7 = nn.add(%6, %0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("sum")
    func.return %7 : tensor<4x4xf32>
  }
}
"""


def stages(plan: dict[str, int], *, strict: bool = False) -> dict[str, int]:
    """The stage of each op by the last piece of its name."""
    module = parse_module(TEXT, "m.mlir", dialects())
    ops = [op for op in entry_functions(module)[0].body.block.ops if not is_leaf(op) and op.name.startswith("nn.")]
    found = stages_by_name(ops, plan, strict=strict)
    return {source_names(op.location)[0].rpartition("/")[2]: stage for op, stage in found.items()}


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        ({"layers.1": 1}, [0, 0, 1, 1, 1]),
        ({"layers.0": 0, "layers.1.weight": 4}, [0, 0, 1, 1, 1]),
        ({"body.0.act": 1}, [0, 1, 1, 1, 1]),
        ({"body.*": 2, "sum": 3}, [0, 1, 1, 1, 2]),
        ({"body.last": 1}, [0, 0, 0, 1, 1]),
        ({"layers.0-1": 0, "kind:relu": 1, "re:su.": 2}, [0, 0, 0, 1, 2]),
        ({"layers.*": 1, "layers.0": 0}, [0, 0, 1, 1, 1]),
    ],
)
def test_plans(plan: dict[str, int], expected: list[int]) -> None:
    assert list(stages(plan).values()) == expected


def test_what_flows_back_moves_or_is_refused() -> None:
    plan = {"p": 1, "q": 0, "sum": 2}
    with pytest.warns(
        TtcWarning, match="what '/body/body.0/act/Tanh' of stage 1 gives flows back: 'q' of stage 0 reads it; 2 such ops are"
    ):
        assert list(stages(plan).values()) == [0, 0, 0, 0, 1]
    with pytest.raises(Error, match="flows back") as raised:
        stages(plan, strict=True)
    assert (raised.value.code, raised.value.where) == ("E0503", "q")


def test_a_name_that_nothing_has() -> None:
    with pytest.raises(Error, match="names 'layers.7', and the model has nothing of that name") as raised:
        stages({"layers.7": 1})
    assert raised.value.code == "E0101"
