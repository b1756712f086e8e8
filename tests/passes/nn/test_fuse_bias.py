"""Tests of the pass in passes/nn/fuse_bias.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ttc.dialects.core.ir.locations import source_names
from ttc.dialects.core.ir.spec import spec_of
from ttc.passes.nn.fuse_bias import FuseBias

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(FuseBias())


CONV = """(%x: tensor<1x3x8x8xf32>)
    %w = ttc.constant() {{value = #ttc.weight<"w", tensor<4x3x3x3xf32>>}} : () -> tensor<4x3x3x3xf32>
    %o = ttc.constant() {{value = #ttc.weight<"o", tensor<4xf32>>}} : () -> tensor<4xf32>
    %b = ttc.constant() {{value = #ttc.weight<"b", tensor<{shape}xf32>>}} : () -> tensor<{shape}xf32>
    %1 = nn.conv2d(%x, %w, {old}) {{dilations = [1, 1], groups = 1, layout = "nchw", pads = [1, 1, 1, 1], strides = [1, 1]}}
        : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>{old_type}) -> tensor<1x4x8x8xf32>
    %2 = nn.add({operands}) : ({types}) -> tensor<1x4x8x8xf32>
    return %2{more} : tensor<1x4x8x8xf32>{more_types}"""


def conv(shape: str, *, old: bool = False, swapped: bool = False, used: bool = False) -> str:
    """A convolution and an add of a constant of that shape; `old`: it has a bias; `used`: its result is used elsewhere."""
    types = [f"tensor<{shape}xf32>", "tensor<1x4x8x8xf32>"]
    return CONV.format(
        shape=shape,
        old="%o" if old else "_",
        old_type=", tensor<4xf32>" if old else "",
        operands="%b, %1" if swapped else "%1, %b",
        types=", ".join(types if swapped else types[::-1]),
        more=", %1" if used else "",
        more_types=", tensor<1x4x8x8xf32>" if used else "",
    )


@pytest.mark.parametrize("shape", ["4x1x1", "1x4x1x1"])
@pytest.mark.parametrize("swapped", [False, True])
def test_convolutions_take_one_number_a_channel(harness: Harness, shape: str, swapped: bool) -> None:
    outcome = harness.numbers(FuseBias(), conv(shape, swapped=swapped))
    assert (outcome.count("add"), outcome.count("conv2d"), outcome.count("reshape")) == (0, 1, 1)


def test_a_second_bias_is_added_to_the_first(harness: Harness) -> None:
    outcome = harness.numbers(FuseBias(), conv("4x1x1", old=True))
    (add,) = [op for op in outcome.unit.module.walk() if op.name == "nn.add"]
    assert spec_of(add.results[0].type).shape == (4,)


@pytest.mark.parametrize(
    ("shape", "used", "message"),
    [
        ("8", False, "a constant of shape [8] is not one number a channel of [1, 4, 8, 8]"),
        ("4x8x8", False, "a constant of shape [4, 8, 8] is not one number a channel of [1, 4, 8, 8]"),
        ("4x1x1", True, "nn.conv2d before it has other users, so the bias stays an add"),
    ],
)
def test_missed(harness: Harness, shape: str, used: bool, message: str) -> None:
    outcome = harness.unchanged(FuseBias(), conv(shape, used=used))
    assert outcome.missed() == [message]


def test_the_new_op_names_both_sources(harness: Harness) -> None:
    outcome = harness.run(FuseBias(), conv("4x1x1"))
    (op,) = [op for op in outcome.unit.module.walk() if op.name == "nn.conv2d"]
    assert source_names(op.location) == ("conv2d", "add")
