"""Files that are read whole: what is refused, what is copied, what is mapped and watched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ttc.dialects.core.errors import Error
from ttc.runtime import read_file as module
from ttc.runtime.read_file import in_file, open_regular, read_file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "a.bin").write_bytes(b"x" * 100)
    return tmp_path / "a.bin"


def test_a_small_file_is_copied(path: Path) -> None:
    data, opened = read_file(path)
    path.write_bytes(b"y")
    assert bytes(data) == b"x" * 100
    assert opened is None


def test_a_large_file_is_mapped_and_watched(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COPIED_BYTES", 99)
    data, opened = read_file(path)
    assert bytes(data) == b"x" * 100
    assert opened is not None
    assert not opened.changed()
    os.utime(path, ns=(1, 1))
    assert opened.changed()


@pytest.mark.parametrize("kind", ["folder", "pipe", "missing", "name"])
def test_what_is_no_regular_file(kind: str, tmp_path: Path) -> None:
    place = tmp_path / ("a\0b" if kind == "name" else kind)
    if kind == "folder":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    with pytest.raises(Error) as caught:
        open_regular(place)
    assert caught.value.code == "E0102"


def test_an_empty_file_and_the_place_in_errors(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(Error) as caught, in_file(tmp_path / "empty"):
        read_file(tmp_path / "empty")
    assert (caught.value.code, caught.value.where) == ("E0701", str(tmp_path / "empty"))
