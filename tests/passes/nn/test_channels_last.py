"""Tests of the pass in passes/nn/channels_last.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.passes.nn.channels_last import ChannelsLast

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(ChannelsLast())
