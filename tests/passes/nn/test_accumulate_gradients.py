"""Tests of the pass in passes/nn/accumulate_gradients.py."""

from __future__ import annotations

from tests.passes.module_pairs import check_pair
from ttc.passes.nn.accumulate_gradients import AccumulateGradients


def test_docstring() -> None:
    _, report = check_pair(AccumulateGradients(), "host")
    assert report.rewrites
