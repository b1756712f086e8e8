"""Tests of the pass in passes/nn/fuse_activation.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.passes.nn.fuse_activation import FuseActivation

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(FuseActivation())
