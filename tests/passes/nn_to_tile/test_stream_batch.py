"""Streaming of batches: the docstring's example, size of microbatches, batches that are not independent."""

from __future__ import annotations

import numpy as np

from tests.passes.module_pairs import check_pair, parse_unit
from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.ir.entries import entry_functions, ports
from ttc.dialects.core.ir.spec import Spec, spec_of
from ttc.passes.manager import run_pass
from ttc.passes.nn_to_tile.stream_batch import StreamBatch, microbatch

F32 = np.dtype(np.float32)


def test_docstring() -> None:
    check_pair(StreamBatch())


def test_host_keeps_the_whole_batch() -> None:
    text = """func.func @f(%x: tensor<64x10xf32> {ttc.name = "x"}) -> (tensor<64x10xf32> {ttc.name = "y"}) {
      %y = nn.relu(%x) : (tensor<64x10xf32>) -> tensor<64x10xf32>
      func.return %y : tensor<64x10xf32> }"""
    unit = parse_unit(text, "host")
    run_pass(StreamBatch(), unit)
    (function,) = entry_functions(unit.module)
    assert spec_of(function.body.block.args[0].type).shape == (64, 10)


def test_microbatches_fill_tiles() -> None:
    assert microbatch(128, [Spec((128, 784), F32)]) == 32
    assert microbatch(8, [Spec((8, 56, 56, 64), F32)]) == 1
    assert microbatch(48, [Spec((48, 100), F32)]) == 24
    assert microbatch(8, [Spec((8, 64, 768), F32), Spec((8, 12, 64, 64), F32)]) == 2  # short sequences go together
    assert microbatch(8, [Spec((8, 128, 768), F32)]) == 1
    assert microbatch(4, [Spec((4, 8, 32), F32)]) == 4
    assert microbatch(4, [Spec((4, 10), F32)]) == 4
    assert microbatch(99_999_999_999, [Spec((99_999_999_999, 4), F32)]) == 21_649  # of which not every number below is tried


def test_a_reduction_over_the_batch_stops_it() -> None:
    text = """func.func @f(%x: tensor<64x10xf32> {ttc.name = "x"}) -> (tensor<1x10xf32> {ttc.name = "y"}) {
      %y = nn.reduce_sum(%x) {axes = [0], keepdims = true} : (tensor<64x10xf32>) -> tensor<1x10xf32>
      func.return %y : tensor<1x10xf32> }"""
    unit = parse_unit(text)
    report = run_pass(StreamBatch(), unit)
    assert [r.message for r in report.remarks] == ["the batch of 64 is not streamed: nn.reduce_sum may mix samples"]


def test_tensors_without_elements_are_not_streamed() -> None:
    text = """func.func @f(%x: tensor<64x0xf32> {ttc.name = "x"}) -> (tensor<64x0xf32> {ttc.name = "y"}) {
      %y = nn.relu(%x) : (tensor<64x0xf32>) -> tensor<64x0xf32>
      func.return %y : tensor<64x0xf32> }"""
    report = run_pass(StreamBatch(), parse_unit(text))
    assert [r.message for r in report.remarks] == ["the batch of 64 is not streamed: a tensor has no elements"]


def test_an_argument_that_nothing_reads_is_not_streamed() -> None:
    text = """func.func @f(%x: tensor<64x10xf32> {ttc.name = "x"}, %u: tensor<64x10xf32> {ttc.name = "u"})
        -> (tensor<64x10xf32> {ttc.name = "y"}) {
      %y = nn.relu(%x) : (tensor<64x10xf32>) -> tensor<64x10xf32>
      func.return %y : tensor<64x10xf32> }"""
    unit = parse_unit(text)
    run_pass(StreamBatch(), unit)
    (function,) = entry_functions(unit.module)
    assert [port.streamed for port in ports(function)[0]] == [True, False]
    assert [spec_of(a.type).shape for a in function.body.block.args] == [(32, 10), (64, 10)]


def test_reshapes_follow_the_microbatch() -> None:
    text = """func.func @f(%x: tensor<64x4x8xf32> {ttc.name = "x"}) -> (tensor<64x32xf32> {ttc.name = "y"}) {
      %y = nn.reshape(%x) {shape = [64, 32]} : (tensor<64x4x8xf32>) -> tensor<64x32xf32>
      func.return %y : tensor<64x32xf32> }"""
    unit = parse_unit(text)
    run_pass(StreamBatch(), unit)
    (function,) = entry_functions(unit.module)
    samples = spec_of(function.body.block.args[0].type).shape[0]
    assert samples < 64
    assert [spec_of(t).shape for t in function.function_type.outputs] == [(samples, 32)]


def test_a_microbatch_that_is_asked_for() -> None:
    text = """
    func.func @forward(%x: tensor<64x10xf32> {ttc.name = "x"}) -> (tensor<64x10xf32> {ttc.name = "y"}) {
      %y = nn.relu(%x) : (tensor<64x10xf32>) -> tensor<64x10xf32>
      func.return %y : tensor<64x10xf32>
    }
    """
    for samples, shape in ((16, 16), (5, 32)):  # 5 does not divide 64: tiles decide
        unit = parse_unit(text)
        run_pass(StreamBatch(samples), unit)
        assert f"tensor<{shape}x10xf32>" in print_op(unit.module)
