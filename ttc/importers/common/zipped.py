"""Model files that are zips: members checked before any is read, those stored plainly as views of the mapped file."""

from __future__ import annotations

import mmap
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record

MAX_MEMBERS = 1 << 17
MAX_NAME = 1024
MAX_RATIO = 1100
"""The most bytes that a compressed byte may become; deflate reaches 1032."""
_LOCAL = struct.Struct("<4s5H3L2H")
_ENCRYPTED = 1


@record
class Zipped:
    """An open zip file whose stored members are read from a mapping.

    Args:
        data: the mapped file, private to this process: writing to it changes no file.
        members: by name.
    """

    data: mmap.mmap
    members: dict[str, zipfile.ZipInfo]

    def read(self, name: str, limit: int) -> bytes:
        """Return a member's bytes, at most `limit`; its checksum is verified.  Raises E0201, E0203."""
        found = self._member(name)
        if found.file_size > limit:
            raise Error("E0203", f"member '{name}' has {found.file_size} bytes, more than {limit}")
        raw = self.data[self._start(found) : self._start(found) + found.compress_size]
        content = raw if found.compress_type == zipfile.ZIP_STORED else _inflated(raw, found)
        if len(content) != found.file_size or zlib.crc32(content) != found.CRC:
            raise Error("E0201", f"member '{name}' is damaged")
        return content

    def view(self, name: str) -> memoryview:
        """Return a member that is stored plainly, as a view of the file: nothing is read, and no checksum verified. Raises E0201, E0203."""
        found = self._member(name)
        if found.compress_type != zipfile.ZIP_STORED:
            raise Error("E0203", f"member '{name}' is compressed")
        return memoryview(self.data)[self._start(found) : self._start(found) + found.file_size]

    def _member(self, name: str) -> zipfile.ZipInfo:
        if name not in self.members:
            raise Error("E0203", f"there is no member '{name}'")
        return self.members[name]

    def _start(self, member: zipfile.ZipInfo) -> int:
        """Return where a member's data starts: after its local header, whose lengths may differ from the directory's."""
        begin = member.header_offset
        if begin < 0 or begin + _LOCAL.size > len(self.data):
            raise Error("E0201", f"member '{member.filename}' lies outside the file")
        magic, *_, name, extra = _LOCAL.unpack_from(self.data, begin)
        start = begin + _LOCAL.size + name + extra
        if magic != b"PK\3\4" or start + member.compress_size > len(self.data):
            raise Error("E0201", f"member '{member.filename}' lies outside the file")
        return start


def open_zipped(path: Path, kind: str) -> Zipped:
    """Map a zip and check its members' names, kinds and sizes.

    kind: of the file, for messages: `a .pt2 archive`.
    Raises: E0102, E0201 (no zip), E0203 (unsafe, or larger than it can be).
    """
    try:
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
            with _damage(kind), zipfile.ZipFile(file) as archive:
                infos = archive.infolist()
    except ValueError:
        raise Error("E0201", f"not {kind}: the file is empty") from None
    except OSError as error:
        raise Error("E0102", f"cannot read '{path}': {error.strerror}") from error
    if len(infos) > MAX_MEMBERS:
        raise Error("E0203", f"{len(infos)} members are more than {kind} may have")
    members: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        _check(info)
        if info.filename in members:
            raise Error("E0203", f"member '{info.filename}' is there twice")
        members[info.filename] = info
    return Zipped(data, members)


@contextmanager
def _damage(kind: str) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError, struct.error, ValueError, EOFError) as error:
        raise Error("E0201", f"not {kind}, or a damaged one: {error}") from error


def _check(info: zipfile.ZipInfo) -> None:
    name = info.filename
    parts = name.removesuffix("/").split("/")
    if len(name) > MAX_NAME or "\\" in name or "\0" in name or any(p in ("", ".", "..") for p in parts) or ":" in parts[0]:
        raise Error("E0203", f"member '{name[:200]}' has an unsafe name")
    if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise Error("E0203", f"member '{name}' is a link or special file")
    if info.flag_bits & _ENCRYPTED or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise Error("E0203", f"member '{name}' is encrypted, or compressed in a way that is not supported")
    stored = info.compress_type == zipfile.ZIP_STORED
    if (stored and info.file_size != info.compress_size) or info.file_size > MAX_RATIO * info.compress_size + MAX_RATIO:
        raise Error("E0203", f"member '{name}' claims {info.file_size} bytes from {info.compress_size}")


def _inflated(raw: bytes, member: zipfile.ZipInfo) -> bytes:
    try:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(raw, member.file_size + 1)
    except zlib.error as error:
        raise Error("E0201", f"member '{member.filename}' is damaged: {error}") from error
