"""Tests of the pass in passes/nn/clip_gradients.py."""

from __future__ import annotations

from tests.passes.module_pairs import check_pair
from ttc.passes.nn.clip_gradients import ClipGradients


def test_docstring() -> None:
    _, report = check_pair(ClipGradients(value=1.0), "host")
    assert report.rewrites
