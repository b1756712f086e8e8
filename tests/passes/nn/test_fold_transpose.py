"""Tests of the pass in passes/nn/fold_transpose.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.passes.nn.fold_transpose import FoldTranspose

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(FoldTranspose())
