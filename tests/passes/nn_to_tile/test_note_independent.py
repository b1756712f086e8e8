"""Programs whose samples are independent."""

from __future__ import annotations

from tests.passes.module_pairs import check_pair, parse_unit
from ttc.dialects.core.ir.entries import module_attr
from ttc.passes.manager import run_pass
from ttc.passes.nn_to_tile.note_independent import NoteIndependent


def test_docstring() -> None:
    check_pair(NoteIndependent())


def test_reasons_and_inputs() -> None:
    one = """func.func @{name}(%x: tensor<{n}x10xf32> {{ttc.name = "x"}}, %k: tensor<10xf32> {{ttc.name = "k"}})
        -> (tensor<{n}x10xf32> {{ttc.name = "y"}}) {{
      %y = nn.{op}
      func.return %y : tensor<{n}x10xf32> }}"""
    add, mix = (
        "add(%x, %k) : (tensor<4x10xf32>, tensor<10xf32>) -> tensor<4x10xf32>",
        "softmax(%x) {axis = 0} : (tensor<8x10xf32>) -> tensor<8x10xf32>",
    )
    unit = parse_unit(one.format(name="forward", n=4, op=add) + one.format(name="forward_8", n=8, op=mix), "host")
    report = run_pass(NoteIndependent(), unit)
    assert module_attr(unit.module, "independent_batches") == (("forward", ("x",)),)
    assert [r.message for r in report.remarks] == ["samples of forward_8 are not independent: nn.softmax may mix samples"]


def test_one_program_needs_no_note() -> None:
    text = """func.func @forward(%x: tensor<4x10xf32> {ttc.name = "x"}) -> (tensor<4x10xf32> {ttc.name = "y"}) {
      %y = nn.relu(%x) : (tensor<4x10xf32>) -> tensor<4x10xf32>
      func.return %y : tensor<4x10xf32> }"""
    unit = parse_unit(text)
    run_pass(NoteIndependent(), unit)
    assert module_attr(unit.module, "independent_batches") is None
