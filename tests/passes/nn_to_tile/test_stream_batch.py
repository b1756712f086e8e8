"""Streaming of batches: the docstring's example, size of microbatches, batches that are not independent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.passes.module_pairs import check_pair, parse_unit
from ttc.dialects.core.batch_axis import OUTERMOST, BatchAxis
from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.ir.attributes import plain
from ttc.dialects.core.ir.entries import entry_functions, ports
from ttc.dialects.core.ir.spec import Spec, spec_of
from ttc.dialects.core.machines.targets import load_target
from ttc.passes.base import Unit
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


def outermost(*specs: Spec) -> list[tuple[Spec, BatchAxis]]:
    """Values that carry the batch in their first dimension."""
    return [(spec, OUTERMOST) for spec in specs]


def test_microbatches_fill_tiles() -> None:
    assert microbatch(128, outermost(Spec((128, 784), F32))) == 32
    assert microbatch(8, outermost(Spec((8, 56, 56, 64), F32))) == 1
    assert microbatch(48, outermost(Spec((48, 100), F32))) == 24
    assert microbatch(32, outermost(Spec((32, 64, 768), F32), Spec((32, 12, 64, 64), F32))) == 2  # short sequences go together
    assert microbatch(8, outermost(Spec((8, 64, 768), F32), Spec((8, 12, 64, 64), F32))) == 1  # unless few microbatches remain
    assert microbatch(8, outermost(Spec((8, 128, 768), F32))) == 1
    assert microbatch(4, outermost(Spec((4, 8, 32), F32))) == 4
    assert microbatch(4, outermost(Spec((4, 10), F32))) == 4
    assert microbatch(99_999_999_999, outermost(Spec((99_999_999_999, 4), F32))) == 21_649  # of which not every number below is tried


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
    assert [port.streamed for port in ports(function)[0]] == [OUTERMOST, None]
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


WEIGHTED = """
builtin.module {{
  func.func @forward(%x: tensor<{batch}x1024xf32> {{ttc.name = "x"}}) -> (tensor<{batch}x1024xf32> {{ttc.name = "y"}}) {{
    %w = ttc.param() {{sym = "w", value = #ttc.weight<"w", tensor<1024x1024xf32>>}} : () -> tensor<1024x1024xf32>
    %y = nn.matmul(%x, %w) {{transpose_a = false, transpose_b = false}}
        : (tensor<{batch}x1024xf32>, tensor<1024x1024xf32>) -> tensor<{batch}x1024xf32>
    func.return %y : tensor<{batch}x1024xf32>
  }}
}}
"""


@pytest.mark.parametrize(
    ("batch", "channel_bytes", "format", "replicas", "count"),
    [
        (64, 2 << 20, None, 8, 1),  # 4 MiB of weights, 16 for each chip
        (64, 1 << 19, None, 4, 1),  # 4 for each chip, of which weights may take 80 %
        (64, 1 << 19, "Float16_b", 8, 1),
        (64, 1 << 17, None, 1, 2),  # a pipeline of all chips, through which two microbatches of 32 pass
        (6, 2 << 20, None, 2, 1),
        (7, 2 << 20, None, 1, 1),
    ],
)
def test_replicas_divide_a_batch_and_chips(batch: int, channel_bytes: int, format: str | None, replicas: int, count: int) -> None:
    target = replace(load_target("n150"), dram_channels=8, dram_channel_bytes=channel_bytes, dram_reserved_bytes=0)
    parsed = parse_unit(WEIGHTED.format(batch=batch), "n150")
    parsed.weights.add_array("w", np.zeros((1024, 1024), np.float32))
    unit = Unit(parsed.module, parsed.weights, target)
    report = run_pass(StreamBatch(None, 8, format), unit)
    (function,) = entry_functions(unit.module)
    given = {name: plain(value) for name, value in function.attributes.items()}
    assert given.get("ttc.replicas", 1) == replicas
    assert given.get("ttc.input_count", 1) == count
    shape = spec_of(function.body.block.args[0].type).shape
    assert shape[0] * replicas * count == batch
    crowded = [r.message for r in report.remarks if "no room for the weights" in r.message]
    assert bool(crowded) == (channel_bytes < 2 << 20 and format is None)
