"""Tests of the pass in passes/nn/fuse_bias.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.passes.nn.fuse_bias import FuseBias

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(FuseBias())
