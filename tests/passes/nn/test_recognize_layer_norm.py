"""Tests of the pass in passes/nn/recognize_layer_norm.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.passes.nn.recognize_layer_norm import RecognizeLayerNorm

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(RecognizeLayerNorm())
