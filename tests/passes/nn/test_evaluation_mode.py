"""Tests of the pass in passes/nn/evaluation_mode.py."""

from __future__ import annotations

from tests.passes.module_pairs import check_pair
from ttc.passes.nn.evaluation_mode import EvaluationMode


def test_docstring() -> None:
    _, report = check_pair(EvaluationMode(), "host")
    assert report.rewrites
