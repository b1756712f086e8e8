"""Zips as model files: members that are safe are read, others refused."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path

import pytest

from ttc.dialects.core.errors import Error
from ttc.importers.common.zipped import Zipped, open_zipped


def written(folder: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_STORED, mode: int = stat.S_IFREG) -> Path:
    path = folder / "model.zip"
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name)
            info.compress_type, info.external_attr = compression, (mode | 0o644) << 16
            archive.writestr(info, data)
    return path


def opened(path: Path) -> Zipped:
    return open_zipped(path, "a test")


def code(path: Path) -> str:
    with pytest.raises(Error) as caught:
        opened(path)
    return caught.value.code


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members_are_read_within_limits(tmp_path: Path, compression: int) -> None:
    archive = opened(written(tmp_path, {"a/b": b"x" * 1000, "empty": b""}, compression))
    assert sorted(archive.members) == ["a/b", "empty"]
    assert archive.read("a/b", 1000) == b"x" * 1000
    assert archive.read("empty", 0) == b""
    for name, limit in (("a/b", 999), ("none", 9)):
        with pytest.raises(Error) as caught:
            archive.read(name, limit)
        assert caught.value.code == "E0203"


def test_stored_members_are_views_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, {"w": b"abcd"})
    view = opened(path).view("w")
    assert bytes(view) == b"abcd"
    view[0] = ord("z")
    assert path.read_bytes().count(b"abcd") == 1
    with pytest.raises(Error, match="compressed"):
        opened(written(tmp_path, {"w": b"a" * 99}, zipfile.ZIP_DEFLATED)).view("w")


@pytest.mark.parametrize("name", ["../x", "/x", "a/../x", "a//x", "./x", "c:/x", "x" * 2000])
def test_names_that_lead_outside(tmp_path: Path, name: str) -> None:
    assert code(written(tmp_path, {name: b""})) == "E0203"


def test_links_duplicates_and_other_compressions(tmp_path: Path) -> None:
    assert code(written(tmp_path, {"x": b"target"}, mode=stat.S_IFLNK)) == "E0203"
    assert code(written(tmp_path, {"x": b"data"}, zipfile.ZIP_BZIP2)) == "E0203"
    path = tmp_path / "twice.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x", b"1")
        archive.writestr("y", b"2")
    path.write_bytes(path.read_bytes().replace(b"y", b"x"))
    assert code(path) == "E0203"


def test_damage(tmp_path: Path) -> None:
    path = written(tmp_path, {"x": b"a" * 1000})
    data = bytearray(path.read_bytes())
    data[60] ^= 1
    path.write_bytes(data)
    with pytest.raises(Error) as caught:
        opened(path).read("x", 1000)
    assert caught.value.code == "E0201"
    for content in (b"", b"PK", bytes(data[:-9])):
        path.write_bytes(content)
        assert code(path) == "E0201"
    with pytest.raises(Error) as caught:
        opened(tmp_path / "none.zip")
    assert caught.value.code == "E0102"


def test_sizes_that_no_compression_gives(tmp_path: Path) -> None:
    path = written(tmp_path, {"x": b"a" * 1000}, zipfile.ZIP_DEFLATED)
    data = path.read_bytes()
    end = data.rindex(b"PK\1\2")
    path.write_bytes(data[: end + 24] + (1 << 30).to_bytes(4, "little") + data[end + 28 :])
    assert code(path) == "E0203"
