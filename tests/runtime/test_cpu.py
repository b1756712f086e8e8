"""Cores by affinity and quota."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ttc.dialects.core.errors import Error
from ttc.runtime import cpu
from ttc.runtime.cpu import available_cores, checked_threads, starting_threads


@pytest.mark.parametrize(
    ("text", "cores"), [("150000 100000", 2), ("max 100000", 3), ("10000 100000", 1), ("900000 100000", 3), ("nonsense", 3)]
)
def test_the_smaller_of_affinity_and_quota(text: str, cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    (tmp_path / "cpu.max").write_text(text)
    assert available_cores(tmp_path / "cpu.max") == cores
    assert available_cores(tmp_path / "missing") == 3


def test_threads_are_bounded_by_the_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "available_cores", lambda: 3)
    assert [checked_threads(n) for n in (None, 1, 12)] == [3, 1, 12]
    for wrong in (0, 13, 100_000):
        with pytest.raises(Error) as caught:
            checked_threads(wrong)
        assert caught.value.code == "E0101"
    assert caught.value.hint == "at most 12 here: 4 for each CPU that this process may use"


def test_a_system_without_further_threads() -> None:
    with pytest.raises(Error, match="the system starts no further thread") as caught, starting_threads():
        raise RuntimeError("can't start new thread")
    assert caught.value.code == "E0104"
    with pytest.raises(RuntimeError, match="another"), starting_threads():
        raise RuntimeError("another")
