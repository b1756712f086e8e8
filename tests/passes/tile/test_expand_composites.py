"""The pass as a whole; the rules of single ops have tests of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.ir import Operation

from tests.passes.tile.vocabulary import one_op
from tests.passes.tiles import docstring, parse
from ttc.compiler.driver import compile_path
from ttc.dialects.core.errors import Error
from ttc.dialects.tile.buda import foreign
from ttc.options import CompileOptions
from ttc.passes.base import Watcher
from ttc.passes.manager import run_pass
from ttc.passes.tile.expand_composites import ExpandComposites

MODEL = """
builtin.module attributes {ttc.stage = "import", ttc.model = "small"} {
  func.func @forward(%x: tensor<1x3x12x12xf32> {ttc.name = "x"}) -> (tensor<1x10xf32> {ttc.name = "y"}) {
    %w = ttc.constant() {value = #ttc.weight<"w", tensor<8x3x3x3xf32>>} : () -> tensor<8x3x3x3xf32> loc("w")
    %0 = nn.conv2d(%x, %w, _) {strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], groups = 1, layout = "nchw"}
        : (tensor<1x3x12x12xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x12x12xf32> loc("conv")
    %1 = nn.silu(%0) : (tensor<1x8x12x12xf32>) -> tensor<1x8x12x12xf32> loc("silu")
    %2 = nn.max_pool2d(%1) {kernel = [2, 2], strides = [2, 2], pads = [0, 0, 0, 0], dilations = [1, 1], ceil_mode = false, layout = "nchw"}
        : (tensor<1x8x12x12xf32>) -> tensor<1x8x6x6xf32> loc("pool")
    %3 = nn.reshape(%2) {shape = [1, 288]} : (tensor<1x8x6x6xf32>) -> tensor<1x288xf32> loc("flatten")
    %v = ttc.constant() {value = #ttc.weight<"v", tensor<288x10xf32>>} : () -> tensor<288x10xf32> loc("v")
    %4 = nn.matmul(%3, %v, _) {transpose_a = false, transpose_b = false}
        : (tensor<1x288xf32>, tensor<288x10xf32>) -> tensor<1x10xf32> loc("matmul")
    %5 = nn.softmax(%4) {axis = 1} : (tensor<1x10xf32>) -> tensor<1x10xf32> loc("softmax")
    func.return %5 : tensor<1x10xf32>
  }
}
"""


class Refuse(Watcher):
    """Refuses expansions of softmax."""

    def rewrite(self, name: str, op: Operation) -> bool:
        return name != "expand-softmax"


def test_docstring() -> None:
    (remark,) = docstring(ExpandComposites()).report.remarks
    assert (remark.kind, remark.message) == ("applied", "tile.softmax is expressed by 9 ops")


def test_what_an_instrument_refuses_stays() -> None:
    unit = parse(one_op("tile.softmax", ["Float32[4, 8]"], "Float32[4, 8]", {"axis": 1}))
    report = run_pass(ExpandComposites(), unit, [Refuse()])
    assert not report.rewrites
    assert [reason for op in unit.module.walk() if (reason := foreign(op))] == ["tile.softmax"]


def test_what_cannot_be_expanded() -> None:
    fragment = one_op("tile.reduce", ["Int32[4, 8]"], "Int32[4, 1]", {"fn": "mean", "axes": (1,), "keepdims": True})
    with pytest.raises(Error) as error:
        run_pass(ExpandComposites(), parse(fragment))
    assert (error.value.code, error.value.where) == ("E0503", "y")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "small.mlir"
    path.write_text(MODEL)
    return path


@pytest.mark.parametrize("target", ["n150", "e150", "p150"])
def test_nothing_else_is_left_of_a_network(model: Path, target: str) -> None:
    result = compile_path(model, CompileOptions(target=target, kernels="buda", to="tile"))
    assert [reason for op in result.unit.module.walk() if (reason := foreign(op))] == []
    assert '"buda"' in result.text()


def test_the_host_has_no_such_kernels(model: Path) -> None:
    with pytest.raises(Error) as error:
        compile_path(model, CompileOptions(target="host", kernels="buda"))
    assert error.value.code == "E0101"
