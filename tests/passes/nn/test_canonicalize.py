"""Tests of the pass in passes/nn/canonicalize.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.passes.nn.canonicalize import Canonicalize

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(Canonicalize())
