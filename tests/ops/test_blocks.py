"""RowBlocksOp: how rows are cut, what comes of none, and what its verifier refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.core.ir.to_plain import plain_block
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.core.plain.functions import Function
from ttc.dialects.core.plain.interpret import RegionBody, run
from ttc.dialects.netlist.check_work import check_function
from ttc.dialects.netlist.codec import decode, encode
from ttc.dialects.netlist.violations import Findings
from ttc.dialects.nn.base import dialect
from ttc.dialects.nn.kernels.blocks import row_blocks

TEXT = """
func.func @main(%x: tensor<?x2xf32> {ttc.name = "x"}, %w: tensor<2xf32> {ttc.name = "w"}) -> (tensor<?x2xf32> {ttc.name = "y"}) {
  %y = nn.row_blocks(%x, %w) {rows = 1} : (tensor<?x2xf32>, tensor<2xf32>) -> tensor<?x2xf32> {
  ^bb0(%a: tensor<2x2xf32>, %v: tensor<2xf32>):
    %0 = nn.mul(%a, %v) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    nn.yield(%0) : (tensor<2x2xf32>) -> ()
  } {
  ^bb0(%a: tensor<4x2xf32>, %v: tensor<2xf32>):
    %0 = nn.mul(%a, %v) : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
    nn.yield(%0) : (tensor<4x2xf32>) -> ()
  }
  func.return %y : tensor<?x2xf32>
}
"""


def function_of(text: str) -> Function:
    module = parse_module(text, "here", [dialect])
    verify(module)
    assert print_op(parse_module(print_op(module), "again", [dialect])) == print_op(module)
    plain = plain_block(entry_functions(module)[0].body.block)
    assert decode(Function, encode(plain)) == plain
    found = Findings()
    assert check_function(plain, "here", found), found.violations
    return plain


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 6, 7, 9])
def test_all_rows_are_computed(count: int, rng: np.random.Generator) -> None:
    x, w = rng.standard_normal((count, 2), np.float32), rng.standard_normal(2, np.float32)
    (found,) = run(function_of(TEXT), [x, w])
    np.testing.assert_array_equal(found, x * w)
    assert found.dtype == np.float32


class Noted(RegionBody):
    """A region that gives its rows back, and notes how many there were."""

    def __init__(self, size: int, noted: list[list[float]]) -> None:
        self.function, self.noted = function_of(TEXT).works[0].bodies[size == 4], noted

    def __call__(self, *values: NDArray) -> list[NDArray]:
        self.noted.append(values[0][:, 0].tolist())
        return [values[0]]


@pytest.mark.parametrize(
    ("count", "blocks"),
    [
        (1, [[0, 0]]),
        (2, [[0, 1]]),
        (3, [[0, 1, 2, 0]]),
        (6, [[0, 1, 2, 3], [4, 5]]),
        (7, [[0, 1, 2, 3], [4, 5, 6, 4]]),
    ],
)
def test_a_block_is_filled_up_with_its_first_row_if_more_than_half_of_it_counts(count: int, blocks: list[list[float]]) -> None:
    noted: list[list[float]] = []
    x = np.stack([np.arange(count), np.arange(count)], 1).astype(np.float32)
    (found,) = row_blocks(x, np.ones(2, np.float32), rows=1, bodies=[Noted(2, noted), Noted(4, noted)])
    assert noted == blocks
    np.testing.assert_array_equal(found, x)


def test_values_of_other_rows_are_refused() -> None:
    x = np.zeros((3, 2), np.float32)
    with pytest.raises(Error, match="values of 3, 2 rows") as caught:
        row_blocks(x, x[:2], rows=2, bodies=[Noted(2, [])])
    assert caught.value.code == "E0802"


@pytest.mark.parametrize(("rows", "size"), [(0, 2), (-1, 2), (3, 2), (1, 0), (1, -1)])
def test_blocks_that_no_compiler_writes_are_refused(rows: int, size: int) -> None:
    class Lying(Noted):
        def __init__(self) -> None:
            super().__init__(2, [])
            first, *others = self.function.inputs
            self.function = replace(self.function, inputs=(replace(first, shape=(size, 2)), *others))

    with pytest.raises(Error) as caught:
        row_blocks(np.zeros((3, 2), np.float32), np.zeros(2, np.float32), rows=rows, bodies=[Lying()])
    assert caught.value.code == "E0609"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{rows = 1}", "{rows = 3}", "3 of 2 values are cut"),
        ("{rows = 1}", "{rows = 0}", "0 of 2 values are cut"),
        ("tensor<4x2xf32>", "tensor<2x2xf32>", "blocks of 2, 2 rows do not ascend"),
        ("tensor<4x2xf32>", "tensor<4x3xf32>", "does not broadcast|a region takes"),
        ("nn.yield(%0) : (tensor<4x2xf32>)", "nn.yield(%v) : (tensor<2xf32>)", "a region for blocks of 4 rows yields"),
    ],
)
def test_what_is_no_region_for_blocks(old: str, new: str, message: str) -> None:
    with pytest.raises(Error, match=message):
        verify(parse_module(TEXT.replace(old, new), "here", [dialect]))
