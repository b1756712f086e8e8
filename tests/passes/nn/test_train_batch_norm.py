"""Tests of the pass in passes/nn/train_batch_norm.py."""

from __future__ import annotations

from tests.passes.module_pairs import check_pair
from ttc.passes.nn.train_batch_norm import TrainBatchNorm


def test_docstring() -> None:
    _, report = check_pair(TrainBatchNorm(), "host")
    assert report.rewrites
