"""Tests of the pass in passes/nn/lower_batch_norm.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ttc.passes.nn.lower_batch_norm import LowerBatchNorm

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(LowerBatchNorm())


@pytest.mark.parametrize(("shape", "axis"), [("6x4", 1), ("3x4x5x2", 1), ("3x5x4", -1)])
@pytest.mark.parametrize("unbiased", ["true", "false"])
def test_numbers_stay(harness: Harness, shape: str, axis: int, unbiased: str) -> None:
    x, vector = f"tensor<{shape}xf32>", "tensor<4xf32>"
    arguments = f"%x: {x}, " + ", ".join(f"%{name}: {vector}" for name in "sbmv")
    attrs = f"axis = {axis}, eps = 0.5, momentum = 0.25, unbiased = {unbiased}"
    types = ", ".join([vector] * 4)
    text = f"""({arguments})
    %0, %1, %2, %3, %4 = nn.batch_norm_training(%x, %s, %b, %m, %v) {{{attrs}}} : ({x}, {types}) -> ({x}, {types})
    return %0, %1, %2, %3, %4 : {x}, {types}"""
    outcome = harness.numbers(LowerBatchNorm(), text, tolerance=1e-5)
    assert outcome.count("batch_norm_training") == 0
    assert outcome.report.rewrites == {"lower-batch-norm": 1}
