"""The cache of compiled code: what is found again, what is not trusted, and what several processes do to it."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from ttc.dialects.core.errors import TtcWarning
from ttc.runtime.engines.native.codegen import cache as module
from ttc.runtime.engines.native.codegen.cache import Cache, cache_folder, process_cache
from ttc.runtime.engines.native.codegen.features import Cpu

ROOT = Path(__file__).resolve().parents[5]
CPU = Cpu("x86-64", frozenset({"avx2", "fma"}))
OTHER = Cpu("x86-64", frozenset({"avx2"}))
DATA = bytes(range(256)) * 8
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="changes owners")


@pytest.fixture(autouse=True)
def version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a generator that nobody is changing while the tests run."""
    monkeypatch.setattr(module, "generator_version", lambda: b"version")


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    found = Cache(tmp_path / "a" / "b" / "cache")
    yield found
    found.close()


def folder(cache: Cache) -> Path:
    assert cache.folder is not None
    return cache.folder


def entry_of(cache: Cache) -> Path:
    """The file of the one entry."""
    (found,) = cache.entries()
    return folder(cache) / found.name


def test_there_and_back(cache: Cache) -> None:
    assert cache.get("k", CPU) is None
    cache.put("k", CPU, DATA)
    cache.put("empty", CPU, b"")
    assert (cache.get("k", CPU), cache.get("empty", CPU)) == (DATA, b"")
    assert Cache(cache.folder).get("k", CPU) == DATA
    assert cache.reason is None


def test_entries_are_told_apart(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.put("k", CPU, b"1")
    assert [cache.get("K", CPU), cache.get("k", OTHER), cache.get("", CPU)] == [None] * 3
    monkeypatch.setattr(module, "generator_version", lambda: b"another")
    assert cache.get("k", CPU) is None
    monkeypatch.setattr(module, "generator_version", lambda: None)
    cache.put("k", CPU, b"2")
    assert cache.get("k", CPU) is None
    assert cache.reason == "the sources of the native engine have changed since this process began"
    assert len(list(cache.entries())) == 1


def test_what_is_on_the_disk(cache: Cache) -> None:
    cache.put("a key\nof lines", CPU, DATA)
    path = entry_of(cache)
    assert [oct(item.stat().st_mode)[-3:] for item in (folder(cache), path)] == ["700", "600"]
    assert len(path.stem) == 64
    assert path.read_bytes().endswith(DATA)
    assert path.stat().st_size == len(DATA) + 48


@pytest.mark.parametrize("change", ["flip", "cut", "empty", "longer", "head", "other", "open", "huge"])
def test_a_broken_entry_is_deleted(cache: Cache, change: str) -> None:
    cache.put("k", CPU, DATA)
    path = entry_of(cache)
    content = bytearray(path.read_bytes())
    match change:
        case "flip":
            content[-1] ^= 1
        case "cut":
            del content[-5:]
        case "empty":
            content.clear()
        case "longer":
            content += b"x"
        case "head":
            content[0] ^= 1
        case "other":  # right in itself, under the name of another
            cache.put("l", CPU, b"code of l")
            content = bytearray(next(p for p in folder(cache).iterdir() if p != path).read_bytes())
        case _:
            pass
    path.write_bytes(content)
    if change == "open":
        path.chmod(0o622)
    if change == "huge":
        os.truncate(path, 1 << 40)
    assert cache.get("k", CPU) is None
    assert not path.exists()
    cache.put("k", CPU, DATA)
    assert cache.get("k", CPU) == DATA


def test_links_and_pipes_are_not_followed(cache: Cache, tmp_path: Path) -> None:
    cache.put("k", CPU, DATA)
    path, outside = entry_of(cache), tmp_path / "outside"
    path.rename(outside)
    path.symlink_to(outside)
    assert cache.get("k", CPU) is None
    assert not path.is_symlink()
    assert outside.exists()
    os.mkfifo(path)
    assert cache.get("k", CPU) is None
    path.symlink_to(outside)
    cache.put("k", CPU, b"new")
    assert (cache.get("k", CPU), outside.stat().st_size) == (b"new", len(DATA) + 48)
    path.unlink()
    path.mkdir()
    cache.put("k", CPU, DATA)
    assert cache.get("k", CPU) is None
    assert "directory" in (cache.reason or "")


# ---- folders --------------------------------------------------------------------------------------------------------------------


def unusable(where: Path | None) -> str:
    """Why, after nothing could be kept."""
    cache = Cache(where)
    cache.put("k", CPU, DATA)
    assert cache.get("k", CPU) is None
    assert (list(cache.entries()), cache.clear()) == ([], [])
    assert cache.reason is not None
    return cache.reason


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o1777])
def test_a_folder_that_others_may_write_to(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    assert unusable(tmp_path) == f"{tmp_path}: others may write to it"
    assert list(tmp_path.iterdir()) == []


@as_root
def test_a_folder_of_another_user(tmp_path: Path) -> None:
    os.chown(tmp_path, 12345, 12345)
    assert unusable(tmp_path) == f"{tmp_path}: it belongs to another user"


@as_root
def test_an_entry_of_another_user(cache: Cache) -> None:
    cache.put("k", CPU, DATA)
    os.chown(entry_of(cache), 12345, 12345)
    assert cache.get("k", CPU) is None


def test_folders_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert unusable(None) == "neither TTC_CACHE_DIR nor a home of the user names a folder"
    assert unusable(tmp_path / "link") == f"{tmp_path}/link: Not a directory"
    assert unusable(tmp_path / "file") == f"{tmp_path}/file: Not a directory"
    assert unusable(tmp_path / "file" / "below") == f"{tmp_path}/file/below: Not a directory"
    assert unusable(Path("/proc/cache")).startswith("/proc/cache: ")
    assert "embedded null" in unusable(Path("nul\0"))


@pytest.mark.parametrize("name", ["/", "//", "/."])
def test_the_root_of_all_files_is_refused(name: str) -> None:
    assert unusable(Path(name)).endswith(": it is the root of all files")


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    cache, names = Cache(tmp_path), [".mine.tmp", "x.code", "x.tmp"]
    for name in names:
        (tmp_path / name).write_text("x")
        os.utime(tmp_path / name, (1e9, 1e9))
    cache.put("k", CPU, DATA)
    assert len(cache.clear()) == 1
    assert sorted(item.name for item in tmp_path.iterdir()) == names


@pytest.mark.parametrize("folder", ["/dev/null/cache", "/" + "a" * 5000, "/"])
def test_a_folder_that_was_asked_for_and_cannot_be_used_is_warned_of(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(module.VARIABLE, folder)
    with pytest.warns(TtcWarning, match="compiled kernels are not kept from one process to the next: TTC_CACHE_DIR=/"):
        assert process_cache().get("k", CPU) is None
    monkeypatch.delenv(module.VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", folder)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert process_cache().reason is not None or folder == "/"


def reason_without_rights(inside: Path, where: Path) -> str:
    """What a process of a user without root's rights says of a folder, given relative to where it is."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.chdir(inside)
        if os.geteuid() == 0:
            os.setuid(12345)
        os.write(writer, unusable(where).encode())
        os.kill(os.getpid(), signal.SIGKILL)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as told:
        return told.read()


def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    if os.geteuid() == 0:
        os.chown(locked, 12345, 12345)
    assert reason_without_rights(tmp_path, Path("locked")) == "locked: Permission denied"
    assert reason_without_rights(tmp_path, Path("locked/new")) == "locked/new: Permission denied"


def test_a_full_disk(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.put("before", CPU, DATA)
    limit = module.os.replace

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.os, "replace", full)
    cache.put("k", CPU, DATA)
    monkeypatch.setattr(module.os, "replace", limit)
    assert cache.reason == f"{cache.folder}: No space left on device"
    assert (cache.get("k", CPU), cache.get("before", CPU)) == (None, DATA)
    assert len(list(folder(cache).iterdir())) == 1


def test_where_the_folder_is(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    assert cache_folder(home) == tmp_path / ".cache" / "ttc"
    assert cache_folder({**home, "XDG_CACHE_HOME": "/x"}) == Path("/x/ttc")
    assert cache_folder({**home, "XDG_CACHE_HOME": "relative"}) == tmp_path / ".cache" / "ttc"
    assert cache_folder({**home, "XDG_CACHE_HOME": "/x", "TTC_CACHE_DIR": "here"}) == Path("here")
    assert cache_folder({**home, "TTC_CACHE_DIR": ""}) == tmp_path / ".cache" / "ttc"
    assert [cache_folder(e) for e in ({}, {"HOME": ""}, {"HOME": "relative"}, {"HOME": "/nonexistent"})] == [None] * 4


@as_root
def test_root_makes_no_folder_in_the_home_of_a_user(tmp_path: Path) -> None:
    os.chown(tmp_path, 12345, 12345)
    assert cache_folder({"HOME": str(tmp_path)}) is None


# ---- size -----------------------------------------------------------------------------------------------------------------------


def age(cache: Cache, keys: str) -> None:
    """Entries of these keys were last used in this order, long ago."""
    for order, key in enumerate(keys):
        name = cache.name(key, CPU)
        assert name is not None
        os.utime(folder(cache) / name, (1e9 + order, 1e9 + order))


def test_the_oldest_go_when_it_is_full(tmp_path: Path) -> None:
    cache = Cache(tmp_path, limit_bytes=10 * 4096)
    for key in "abcdefghij":
        cache.put(key, CPU, DATA)
    assert len(list(cache.entries())) == 10
    age(cache, "bacdefghij")
    assert cache.get("b", CPU) == DATA  # which is a use
    cache.put("k", CPU, DATA)
    assert [key for key in "abcdefghijk" if cache.get(key, CPU) is None] == ["a", "c"]
    cache.put("large", CPU, bytes(11 * 4096))
    assert cache.get("large", CPU) is None
    second = Cache(tmp_path, limit_bytes=3 * 4096)
    second.put("l", CPU, DATA)
    assert len(list(second.entries())) == 2


def test_a_process_lists_the_folder_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[object] = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda place: listed.append(place) or scandir(place))
    for key in "abc":
        Cache(tmp_path).put(key, CPU, DATA)
    once = len(listed)
    Cache(tmp_path).put("d", CPU, DATA)
    assert 0 < once == len(listed)
    Cache(tmp_path, limit_bytes=2 * 4096).put("e", CPU, DATA)  # what other objects wrote is counted
    assert len(list(Cache(tmp_path).entries())) == 1


def test_what_killed_writers_left_goes(cache: Cache) -> None:
    left, held = (folder(cache) / f".{start * 16}-{'0' * 16}.tmp" for start in "ab")
    for path in (left, held):
        path.write_bytes(b"half")
    with held.open("rb") as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        cache.put("k", CPU, DATA)
        assert (left.exists(), held.exists()) == (False, True)
    assert [entry.size_bytes for entry in cache.clear()] == [len(DATA) + 48]
    assert list(folder(cache).iterdir()) == []


def test_closed(cache: Cache) -> None:
    cache.put("k", CPU, DATA)
    cache.close()
    cache.close()
    cache.put("l", CPU, DATA)
    assert (cache.get("k", CPU), list(cache.entries())) == (None, [])


# ---- processes ------------------------------------------------------------------------------------------------------------------

WRITER = """
import sys
from pathlib import Path
from tests.runtime.engines.native.codegen.test_cache import CPU, content
from ttc.dialects.core.errors import TtcWarning
from ttc.runtime.engines.native.codegen import cache as module
module.generator_version = lambda: b"version"
cache = module.Cache(Path(sys.argv[1]), limit_bytes=int(sys.argv[2]))
print("ready", flush=True)
found = wrong = 0
for round in range(int(sys.argv[3])):
    for number in range(12):
        data = cache.get(f"k{number}", CPU)
        found += data is not None
        wrong += data is not None and data != content(number)
        if round % 3 == 0 or data is None:
            cache.put(f"k{number}", CPU, content(number))
print(found, wrong, cache.reason)
"""


def content(number: int) -> bytes:
    """Of entry `number`: 200 kB, so that writing takes a while."""
    return bytes([number]) * 200_000


def writers(where: Path, count: int, rounds: int, limit_bytes: int) -> list[subprocess.Popen[bytes]]:
    """Processes that have begun; nothing more than that line is read of what they say, so that `communicate` finds the rest."""
    command = [sys.executable, "-c", WRITER, str(where), str(limit_bytes), str(rounds)]
    found = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0) for _ in range(count)]
    for process in found:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
    return found


@pytest.mark.parametrize("limit_bytes", [1 << 30, 1_000_000])
def test_processes_that_write_the_same_entries(tmp_path: Path, limit_bytes: int) -> None:
    """With room for all of them, and while they drop each other's."""
    tmp_path.chmod(0o700)
    for process in writers(tmp_path, 4, 12, limit_bytes):
        out, err = process.communicate(timeout=60)
        assert err == b""
        found, wrong, reason = out.decode().split()
        assert int(found) > 0 or limit_bytes < 12 * len(content(0))  # one process after the other finds none of 12 where 5 have room
        assert (wrong, reason) == ("0", "None")
    assert not list(tmp_path.glob(".*"))
    assert len(list(tmp_path.iterdir())) <= 12


def test_writers_that_are_killed(tmp_path: Path) -> None:
    """Whenever it happens, all entries are whole, and what is left over goes."""
    tmp_path.chmod(0o700)
    processes = writers(tmp_path, 4, 10**6, 1 << 30)
    end = time.monotonic() + 60
    while len([path for path in tmp_path.iterdir() if not path.name.startswith(".")]) < 12 and time.monotonic() < end:
        time.sleep(0.01)
    for process in processes:
        time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
    for process in processes:
        process.communicate(timeout=60)
    cache = Cache(tmp_path)
    names = {entry.name for entry in cache.entries()}
    assert len(names) == 12
    assert [cache.get(f"k{number}", CPU) for number in range(12)] == [content(number) for number in range(12)]
    cache.put("last", CPU, DATA)
    assert len(list(tmp_path.iterdir())) == 13
