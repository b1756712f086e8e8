"""Where values carry a batch: time first, heads folded before samples or behind them, states and constants that ops ask for, mixtures."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.module_pairs import parse_unit
from ttc.dialects.core.batch_axis import OUTERMOST, BatchAxis
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.spec import spec_of
from ttc.passes.nn_to_tile.carriers import Carriers
from ttc.passes.nn_to_tile.repeated_rows import RepeatedRows
from ttc.passes.nn_to_tile.stream_batch import resize_batch

SECOND = BatchAxis(1)


def carriers(arguments: str, body: str, result: str, **weights: np.ndarray) -> Carriers:
    """What carries the batch of a program with these lines, which returns %y."""
    unit = parse_unit(
        f'func.func @f({arguments}) -> (tensor<{result}> {{ttc.name = "y"}}) {{\n{body}\nfunc.return %y : tensor<{result}> }}'
    )
    for name, array in weights.items():
        unit.weights.add_array(name, array)
    (function,) = entry_functions(unit.module)
    return Carriers.of(function, RepeatedRows(unit).has)


def input_(name: str, shape: str) -> str:
    return f'%{name}: tensor<{shape}> {{ttc.name = "{name}"}}'


def places(found: Carriers) -> dict[str | None, BatchAxis]:
    """Where named values carry the batch."""
    return {value.name_hint: at for value, at in found.axes.items()}


def test_time_first() -> None:
    """Steps depend on each other, samples in the second dimension do not; what is taken of a step has them first."""
    body = """%s = nn.cumsum(%x) {axis = 0, exclusive = false, reverse = false} : (tensor<3x8x4xf32>) -> tensor<3x8x4xf32>
      %t = nn.slice(%s) {starts = [2, 0, 0], sizes = [1, 8, 4], steps = [1, 1, 1]} : (tensor<3x8x4xf32>) -> tensor<1x8x4xf32>
      %y = nn.reshape(%t) {shape = [8, 4]} : (tensor<1x8x4xf32>) -> tensor<8x4xf32>"""
    found = carriers(input_("x", "3x8x4xf32"), body, "8x4xf32")
    assert (found.size, found.reason) == (8, None)
    assert places(found) == {"x": SECOND, "s": SECOND, "t": SECOND, "y": OUTERMOST}


def test_heads_folded_before_samples() -> None:
    body = """%p = nn.transpose(%x) {perm = [1, 0, 2]} : (tensor<8x3x4xf32>) -> tensor<3x8x4xf32>
      %f = nn.reshape(%p) {shape = [24, 4]} : (tensor<3x8x4xf32>) -> tensor<24x4xf32>
      %h = nn.softmax(%f) {axis = 1} : (tensor<24x4xf32>) -> tensor<24x4xf32>
      %u = nn.reshape(%h) {shape = [3, 8, 4]} : (tensor<24x4xf32>) -> tensor<3x8x4xf32>
      %y = nn.transpose(%u) {perm = [1, 2, 0]} : (tensor<3x8x4xf32>) -> tensor<8x4x3xf32>"""
    found = carriers(input_("x", "8x3x4xf32"), body, "8x4x3xf32")
    assert (found.size, found.reason) == (8, None)
    assert places(found) == {"x": OUTERMOST, "p": SECOND, "f": BatchAxis(0, 3), "h": BatchAxis(0, 3), "u": SECOND, "y": OUTERMOST}
    resize_batch(found, 2)
    last = found.function.body.block.last_op
    assert last is not None
    assert spec_of(last.operands[0].type).shape == (2, 4, 3)


@pytest.mark.parametrize("op", ["nn.softmax(%f) {axis = 0}", "nn.cumsum(%f) {axis = 0, exclusive = false, reverse = false}"])
def test_folded_samples_that_mix(op: str) -> None:
    body = f"""%p = nn.transpose(%x) {{perm = [1, 0, 2]}} : (tensor<8x3x4xf32>) -> tensor<3x8x4xf32>
      %f = nn.reshape(%p) {{shape = [24, 4]}} : (tensor<3x8x4xf32>) -> tensor<24x4xf32>
      %y = {op} : (tensor<24x4xf32>) -> tensor<24x4xf32>"""
    found = carriers(input_("x", "8x3x4xf32"), body, "24x4xf32")
    assert (found.size, found.reason) == (8, f"{op.split('(')[0]} may mix samples")
    assert not found.is_divisible


def test_two_orders_do_not_meet() -> None:
    """Samples before heads, and heads before samples, are not the same rows."""
    body = """%p = nn.transpose(%x) {perm = [1, 0, 2]} : (tensor<8x3x4xf32>) -> tensor<3x8x4xf32>
      %f = nn.reshape(%p) {shape = [24, 4]} : (tensor<3x8x4xf32>) -> tensor<24x4xf32>
      %g = nn.reshape(%x) {shape = [24, 4]} : (tensor<8x3x4xf32>) -> tensor<24x4xf32>
      %y = nn.add(%f, %g) : (tensor<24x4xf32>, tensor<24x4xf32>) -> tensor<24x4xf32>"""
    assert carriers(input_("x", "8x3x4xf32"), body, "24x4xf32").reason == "nn.add may mix samples"


def test_a_state_that_an_op_asks_for() -> None:
    """A first state of two layers has the samples in its second dimension; of two samples, too."""
    body = """%a = nn.slice(%h) {starts = [1, 0, 0], sizes = [1, 2, 4], steps = [1, 1, 1]} : (tensor<2x2x4xf32>) -> tensor<1x2x4xf32>
      %b = nn.reshape(%a) {shape = [2, 4]} : (tensor<1x2x4xf32>) -> tensor<2x4xf32>
      %y = nn.add(%x, %b) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>"""
    found = carriers(f"{input_('x', '2x4xf32')}, {input_('h', '2x2x4xf32')}", body, "2x4xf32")
    assert (found.size, found.reason) == (2, None)
    assert places(found) == {"x": OUTERMOST, "h": SECOND, "a": SECOND, "b": OUTERMOST, "y": OUTERMOST}


LEAF = '%w = ttc.param() {sym = "w", value = #ttc.weight<"w", tensor<3x8x4xf32>>} : () -> tensor<3x8x4xf32>'


@pytest.mark.parametrize("same", [True, False])
def test_constants_that_repeat_along_the_second_dimension(same: bool) -> None:
    body = f"""{LEAF}
      %s = nn.cumsum(%x) {{axis = 0, exclusive = false, reverse = false}} : (tensor<3x8x4xf32>) -> tensor<3x8x4xf32>
      %y = nn.add(%s, %w) : (tensor<3x8x4xf32>, tensor<3x8x4xf32>) -> tensor<3x8x4xf32>"""
    value = np.arange(12, dtype=np.float32).reshape(3, 1, 4).repeat(8, 1)
    if not same:
        value[2, 7, 3] += 1
    found = carriers(input_("x", "3x8x4xf32"), body, "3x8x4xf32", w=value)
    assert [at for _, at in found.leaves] == ([SECOND] if same else [])
    assert found.is_divisible == same


def test_what_is_expanded_and_turned_repeats() -> None:
    """Zeros for all samples, which come behind heads when they are added."""
    body = """%z = ttc.constant() {value = #ttc.literal<[0.0], tensor<f32>>} : () -> tensor<f32>
      %e = nn.expand(%z) {shape = [8, 3, 4]} : (tensor<f32>) -> tensor<8x3x4xf32>
      %t = nn.transpose(%e) {perm = [1, 0, 2]} : (tensor<8x3x4xf32>) -> tensor<3x8x4xf32>
      %r = nn.reshape(%t) {shape = [24, 4]} : (tensor<3x8x4xf32>) -> tensor<24x4xf32>
      %p = nn.transpose(%x) {perm = [1, 0, 2]} : (tensor<8x3x4xf32>) -> tensor<3x8x4xf32>
      %f = nn.reshape(%p) {shape = [24, 4]} : (tensor<3x8x4xf32>) -> tensor<24x4xf32>
      %y = nn.sub(%f, %r) : (tensor<24x4xf32>, tensor<24x4xf32>) -> tensor<24x4xf32>"""
    found = carriers(input_("x", "8x3x4xf32"), body, "24x4xf32")
    assert found.reason is None
    assert {name: places(found)[name] for name in "etry"} == {"e": OUTERMOST, "t": SECOND, "r": BatchAxis(0, 3), "y": BatchAxis(0, 3)}
    resize_batch(found, 2)
    assert [spec_of(op.results[0].type).shape for op in found.function.body.block.ops if op.results][1] == (2, 3, 4)


@pytest.mark.parametrize(("repeats", "reason"), [([8, 1], None), ([1, 8], "nn.add may mix samples")])
def test_copies_of_a_row(repeats: list[int], reason: str | None) -> None:
    """Copies below each other are one for each sample, copies beside each other are features."""
    shape = "1x32xf32" if repeats[0] == 8 else "8x4xf32"
    body = f"""%w = ttc.param() {{sym = "w", value = #ttc.weight<"w", tensor<{shape}>>}} : () -> tensor<{shape}>
      %r = nn.repeat(%w) {{repeats = {repeats}}} : (tensor<{shape}>) -> tensor<8x32xf32>
      %y = nn.add(%x, %r) : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>"""
    value = np.arange(32, dtype=np.float32).reshape([int(d) for d in shape.split("x")[:2]])
    found = carriers(input_("x", "8x32xf32"), body, "8x32xf32", w=value)
    assert found.reason == reason
    if reason is None:
        resize_batch(found, 4)
        assert [op.plain_attrs()["repeats"] for op in found.function.body.block.ops if op.name == "nn.repeat"] == [(4, 1)]  # pyright: ignore[reportAttributeAccessIssue]


def test_rows_of_features_have_no_second_batch() -> None:
    body = "%y = nn.softmax(%x) {axis = 0} : (tensor<8x4xf32>) -> tensor<8x4xf32>"
    assert carriers(input_("x", "8x4xf32"), body, "8x4xf32").reason == "nn.softmax may mix samples"
    one = body.replace("8x4", "1x8x4")
    assert carriers(input_("x", "1x8x4xf32"), one, "1x8x4xf32").size == 1


def test_reasons_of_ops_without_a_rule() -> None:
    body = """%k = nn.grouped_matmul(%x, %w, %g) {transpose_w = false}
        : (tensor<8x4xf32>, tensor<2x4x4xf32>, tensor<8xi64>) -> tensor<8x4xf32>
      %y = nn.relu(%k) : (tensor<8x4xf32>) -> tensor<8x4xf32>"""
    given = ", ".join((input_("x", "8x4xf32"), input_("w", "2x4x4xf32"), input_("g", "8xi64")))
    assert carriers(given, body, "8x4xf32").reason == "nn.grouped_matmul may mix samples: rows of one expert are computed together"
