"""Tests of the pass in passes/nn/fold_shapes.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.passes.nn.fold_shapes import FoldShapes

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(FoldShapes())
