"""Attention."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.tile.vocabulary import expand, one_op
from tests.passes.tiles import check_numbers, parse

Q, K, V = "Float32[2, 3, 7, 8]", "Float32[2, 3, 9, 8]", "Float32[2, 3, 9, 5]"
RESULT = "Float32[2, 3, 7, 5]"


@pytest.mark.parametrize("mask", [None, "Float32[7, 9]", "Float32[2, 1, 1, 9]"])
@pytest.mark.parametrize("zero_masked", [False, True])
def test_attention(mask: str | None, zero_masked: bool) -> None:
    attrs = {"scale": 0.35, "zero_masked": zero_masked}
    operands = [Q, K, V] if mask is None else [Q, K, V, mask]
    expand(one_op("tile.attention", operands, RESULT, attrs, absent=4 - len(operands)))


@pytest.mark.parametrize("lowest", [-np.inf, np.finfo(np.float32).min])
def test_rows_that_are_masked_whole(lowest: float) -> None:
    fragment = one_op("tile.attention", [Q, K, V, "Float32[7, 9]"], RESULT, {"scale": 0.35, "zero_masked": True})
    outcome = expand(fragment)
    generator = np.random.default_rng(1)
    arrays = [generator.normal(size=s).astype(np.float32) for s in ((2, 3, 7, 8), (2, 3, 9, 8), (2, 3, 9, 5))]
    mask = np.where(generator.random((7, 9)) < 0.5, lowest, 0).astype(np.float32)
    mask[2] = lowest
    check_numbers(parse(fragment), outcome.unit, inputs=[*arrays, mask])
