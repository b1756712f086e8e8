"""Machine code kept from one process to the next: a folder of the user with one file for each kernel.

    cache = process_cache()
    cache.get(key, cpu), cache.put(key, cpu, data)

A folder that cannot be used (missing and not to be made, of another owner, writable by others, the root of all files, read-only, full) is
no error: nothing is found or kept, `reason` says why, and it is warned of where somebody asked for that folder.  Nothing is trusted that
is read: an entry's name is a hash of all that determines it, its head holds a hash of its content, and one that does not fit is deleted.
Entries are written to a temporary file and renamed, so that readers see all or nothing; of two writers of one entry the later wins, with
the same content.  The folder holds code, never weights.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from ttc.dialects.core.errors import warn
from ttc.dialects.core.records import record
from ttc.runtime.engines.native.codegen.features import Cpu
from ttc.runtime.engines.native.codegen.generator import generator_version
from ttc.runtime.temporary import new_file, remove_abandoned_files

VARIABLE = "TTC_CACHE_DIR"
DEFAULT_LIMIT_BYTES = 512 << 20
MAX_ENTRY_BYTES = 64 << 20

_MAGIC = b"TTCCODE1"
_HEAD = struct.Struct("<8sQ32s")
_ENTRY, _TEMPORARY = re.compile(r"[0-9a-f]{64}\.code"), r"\.[0-9a-f]{16}"
"""Names of entries, and stems of temporary files: nothing else in the folder is touched."""
_BLOCK_BYTES = 4096
"""Bytes of a block of a file system: what the smallest entry takes."""
_TOUCH_SECONDS = 86400.0
"""How exactly the time of an entry's last use is kept."""
_KEPT_SHARE = 0.9
"""The share of the limit that is kept after entries have been dropped: the next ones then need no search."""
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW

_TOTALS: dict[tuple[str, int, int], int] = {}
"""Bytes of the entries of folders, as this process found them when it first wrote there, and those that it wrote since.  What others write
meanwhile is counted by the next process."""
_COUNTING = threading.Lock()


@record
class Entry:
    """A file of the cache.  used: when it was read last, in seconds since 1970, to a day."""

    name: str
    size_bytes: int
    used: float


def cache_folder(environ: Mapping[str, str]) -> Path | None:
    """Return where the cache is: TTC_CACHE_DIR, else `ttc` in XDG_CACHE_HOME, else `.cache/ttc` in a home of the user's own; None if
    nowhere.

    Source: XDG Base Directory Specification (a path that is not absolute is not valid).
    """
    if environ.get(VARIABLE):
        return Path(environ[VARIABLE])
    if Path(environ.get("XDG_CACHE_HOME", "")).is_absolute():
        return Path(environ["XDG_CACHE_HOME"], "ttc")
    home = Path(environ.get("HOME", ""))
    try:
        # a program of root must not make folders that their user cannot use afterwards
        return home / ".cache" / "ttc" if home.is_absolute() and home.stat().st_uid == os.geteuid() else None
    except OSError:
        return None


def process_cache() -> Cache:
    """Return the cache that the variables of this process name."""
    return Cache(cache_folder(os.environ), asked=bool(os.environ.get(VARIABLE)))


class Cache:
    """Code by key, in a folder.

    Args:
        folder: made if it is missing; None: there is no cache.
        limit_bytes: of all entries; above it, those that were not used for the longest time are dropped.
        asked: whether somebody asked for this folder: that it cannot be used is then warned of.
        first: another cache, in which entries are looked for first; nothing is kept there.
    """

    def __init__(
        self, folder: Path | None, limit_bytes: int = DEFAULT_LIMIT_BYTES, *, asked: bool = False, first: Cache | None = None
    ) -> None:
        self.folder = folder
        self._first = first
        self._asked = asked
        self.limit_bytes = limit_bytes
        self.reason: str | None = None
        self._fd = -1
        self._place: tuple[str, int, int] = ("", 0, 0)
        self._lock = threading.Lock()  # of the descriptor
        if folder is None:
            self.reason = f"neither {VARIABLE} nor a home of the user names a folder"
            return
        try:
            self._open(folder)
        except (OSError, ValueError) as error:
            self._refuse(error)

    def close(self) -> None:
        """Close the folder: from then on the cache finds and keeps nothing."""
        with self._lock:
            if self._fd >= 0:
                os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        self.close()

    def get(self, key: str, cpu: Cpu) -> bytes | None:
        """Return what was put under that key for that CPU by this version of the generator."""
        return self.read(self.name(key, cpu))

    def put(self, key: str, cpu: Cpu, data: bytes) -> None:
        """Keep an entry, if the folder takes it."""
        self.write(self.name(key, cpu), data)

    def name(self, key: str, cpu: Cpu, version: Callable[[], bytes | None] | None = None) -> str | None:
        """Return the name of an entry's file: a hash of all that determines it.  version: of what makes it; default: of the generator of
        code.

        None: there is no cache, or the version is not known.
        """
        if self._fd < 0 and self._first is None:
            return None
        found = (version or generator_version)()
        if found is None:
            self.reason = "the sources of the native engine have changed since this process began"
            return None
        parts = (_MAGIC, found, cpu.key.encode(), key.encode())
        return hashlib.sha256(b"".join(len(part).to_bytes(8, "little") + part for part in parts)).hexdigest() + ".code"

    def read(self, name: str | None) -> bytes | None:
        """Return the entry of that name; None if there is none, or its bytes are not what was written."""
        if self._first is not None and (found := self._first.read(name)) is not None:
            return found
        if name is None or self._fd < 0:
            return None
        try:
            return self._read(name)
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            with suppress(OSError):
                os.unlink(name, dir_fd=self._fd)
            return None

    def write(self, name: str | None, data: bytes) -> None:
        """Keep an entry under that name, if the folder takes it."""
        if name is None or self._fd < 0 or len(data) > min(MAX_ENTRY_BYTES, self.limit_bytes):
            return
        try:
            self._write(name, _HEAD.pack(_MAGIC, len(data), _digest(name, data)) + data)
            self._account(len(data) + _HEAD.size)
        except OSError as error:
            self._refuse(error)

    def entries(self) -> Iterator[Entry]:
        """Yield all entries, of any version and CPU, in no order."""
        for name, found in self._files(_ENTRY):
            yield Entry(name, found.st_size, found.st_mtime)

    def clear(self) -> list[Entry]:
        """Delete all entries, and what killed writers left; returns the entries that are gone."""
        if self._fd < 0:
            return []
        gone = []
        for entry in list(self.entries()):
            with suppress(OSError):
                os.unlink(entry.name, dir_fd=self._fd)
                gone.append(entry)
        remove_abandoned_files(_TEMPORARY, self._fd)
        _TOTALS.pop(self._place, None)
        return gone

    # ---- the folder --------------------------------------------------------------------------------------------------------------------

    def _open(self, folder: Path) -> None:
        with suppress(FileExistsError):
            folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700)
        fd = os.open(folder, _FOLDER)
        found = os.fstat(fd)
        root = os.stat("/")
        if (found.st_dev, found.st_ino) == (root.st_dev, root.st_ino):
            reason = "it is the root of all files"
        elif found.st_uid != os.geteuid():
            reason = "it belongs to another user"
        else:
            reason = "others may write to it" if stat.S_IMODE(found.st_mode) & 0o022 else None
        if reason is not None:
            os.close(fd)
            raise ValueError(reason)
        self._fd, self._place = fd, (str(folder), found.st_dev, found.st_ino)

    def _refuse(self, error: OSError | ValueError) -> None:
        """Say why nothing can be kept."""
        self.reason = f"{self.folder}: {_text(error)}"
        if self._asked:
            warn(f"compiled kernels are not kept from one process to the next: {VARIABLE}={self.reason}")

    def _files(self, form: re.Pattern[str]) -> Iterator[tuple[str, os.stat_result]]:
        """Regular files with names of that form."""
        if self._fd < 0:
            return
        with suppress(OSError), os.scandir(self._fd) as found:
            for item in found:
                if form.fullmatch(item.name) and item.is_file(follow_symlinks=False):
                    with suppress(OSError):
                        yield item.name, item.stat(follow_symlinks=False)

    # ---- one entry ---------------------------------------------------------------------------------------------------------------------

    def _read(self, name: str) -> bytes:
        """Raises OSError or ValueError for one that is not right."""
        fd = os.open(name, _READ, dir_fd=self._fd)
        try:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
                raise ValueError("not a file of the user alone")
            if not _HEAD.size <= found.st_size <= MAX_ENTRY_BYTES + _HEAD.size:
                raise ValueError("no such size")
            with suppress(OSError):
                if abs(time.time() - found.st_mtime) > _TOUCH_SECONDS:
                    os.utime(fd)
            content = _all_of(fd, found.st_size)
        finally:
            os.close(fd)
        magic, size, digest = _HEAD.unpack_from(content)
        data = content[_HEAD.size :]
        if magic != _MAGIC or size != len(data) or digest != _digest(name, data):
            raise ValueError("damaged")
        return data

    def _write(self, name: str, content: bytes) -> None:
        fd, temporary = new_file(f".{name[:16]}", 0o600, self._fd)
        try:
            with open(fd, "wb", buffering=0) as file:
                while content:  # a write may take a part only, where the disk becomes full
                    content = content[file.write(content) :]
                os.replace(temporary, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=self._fd)
            raise

    # ---- its size ----------------------------------------------------------------------------------------------------------------------

    def _account(self, size_bytes: int) -> None:
        """Drop the oldest entries if this one was too much."""
        with _COUNTING:
            total = _TOTALS.get(self._place)
            if total is None:
                remove_abandoned_files(_TEMPORARY, self._fd)
                total = sum(_blocks(entry.size_bytes) for entry in self.entries())
            else:
                total += _blocks(size_bytes)
            _TOTALS[self._place] = self._shrink(int(self.limit_bytes * _KEPT_SHARE)) if total > self.limit_bytes else total

    def _shrink(self, goal_bytes: int) -> int:
        """Drop entries, oldest first, until the rest takes at most so many bytes; returns what it takes."""
        entries = sorted(self.entries(), key=lambda entry: (entry.used, entry.name))
        total = sum(_blocks(entry.size_bytes) for entry in entries)
        for entry in entries:
            if total <= goal_bytes:
                break
            with suppress(OSError):
                os.unlink(entry.name, dir_fd=self._fd)
            total -= _blocks(entry.size_bytes)
        return total


def _digest(name: str, data: bytes) -> bytes:
    """Return the hash of an entry's content, and of where it belongs."""
    return hashlib.sha256(name.encode() + data).digest()


def _all_of(fd: int, size: int) -> bytes:
    """Return a file's content; raises ValueError if it is shorter now."""
    content = os.read(fd, size)
    while len(content) < size:
        more = os.read(fd, size - len(content))
        if not more:
            raise ValueError("cut off")
        content += more
    return content


def _blocks(size_bytes: int) -> int:
    return -(-size_bytes // _BLOCK_BYTES) * _BLOCK_BYTES


def _text(error: OSError | ValueError) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)
