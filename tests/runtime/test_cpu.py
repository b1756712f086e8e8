"""Cores by affinity and quota."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ttc.runtime.cpu import available_cores


@pytest.mark.parametrize(
    ("text", "cores"), [("150000 100000", 2), ("max 100000", 3), ("10000 100000", 1), ("900000 100000", 3), ("nonsense", 3)]
)
def test_the_smaller_of_affinity_and_quota(text: str, cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    (tmp_path / "cpu.max").write_text(text)
    assert available_cores(tmp_path / "cpu.max") == cores
    assert available_cores(tmp_path / "missing") == 3
