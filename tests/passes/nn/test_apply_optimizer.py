"""Tests of the pass in passes/nn/apply_optimizer.py."""

from __future__ import annotations

from tests.passes.module_pairs import check_pair
from ttc.passes.nn.apply_optimizer import ApplyOptimizer


def test_docstring() -> None:
    _, report = check_pair(ApplyOptimizer(), "host")
    assert report.rewrites
