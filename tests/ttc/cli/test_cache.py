"""`ttc cache`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ttc.cli import main
from ttc.runtime.engines.native.codegen import cache as module
from ttc.runtime.engines.native.codegen.cache import Cache
from ttc.runtime.engines.native.codegen.features import Cpu


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of two entries."""
    monkeypatch.setattr(module, "generator_version", lambda: b"version")
    monkeypatch.setenv("TTC_CACHE_DIR", str(tmp_path / "cache"))
    cache = Cache(tmp_path / "cache")
    for key in "ab":
        cache.put(key, Cpu("x86-64", frozenset()), bytes(952))
    return tmp_path / "cache"


def test_what_there_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache"]) == 0
    assert capsys.readouterr() == (f"{folder}: 2 entries, 2.0 kB of at most 536.9 MB\n", "")


def test_clear(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "--clear"]) == 0
    assert capsys.readouterr().out == f"deleted 2 entries, 2.0 kB\n{folder}: 0 entries, 0 B of at most 536.9 MB\n"
    assert list(folder.iterdir()) == []


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "--json", "--clear"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "folder": str(folder),
        "unusable": None,
        "entries": 0,
        "bytes": 0,
        "limit_bytes": 512 << 20,
        "cleared_entries": 2,
        "cleared_bytes": 2000,
    }


def test_no_cache(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder.chmod(0o777)
    assert main(["cache", "--clear"]) == 0
    assert capsys.readouterr().out == f"no cache, kernels are compiled in each process: {folder}: others may write to it\n"
    assert len(list(folder.iterdir())) == 2
