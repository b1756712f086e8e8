"""Writing a zip of stored, aligned members in one pass, hashing what passes through."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from ttc.dialects.core.errors import Error
from ttc.runtime.zip_format import ZipEntry, central_header, end_records, local_header

_WORTH_A_THREAD_BYTES = 1 << 18


class Sums:
    """The CRC-32 and SHA-256 of bytes that pass by."""

    def __init__(self) -> None:
        self.crc = 0
        self.sha256 = hashlib.sha256()

    def update(self, chunk: memoryview) -> None:
        """Take the next bytes into account."""
        self.crc = zlib.crc32(chunk, self.crc)
        self.sha256.update(chunk)


class ZipWriter:
    """Writes members to a file descriptor, one after the other; sums are computed in a second thread, of `pool`, meanwhile."""

    def __init__(self, fd: int, pool: ThreadPoolExecutor) -> None:
        self._fd = fd
        self._pool = pool
        self._position = 0
        self._entries: list[ZipEntry] = []

    def add(self, name: str, size: int, chunks: Iterable[memoryview]) -> str:
        """Write a member of the archive.

        Args:    size: bytes of all chunks together, known beforehand.  chunks: byte views of its data.
        Returns: SHA-256 of the data, in hexadecimal.
        Raises:  E0901 if the chunks are not of that size; OSError.
        """
        entry = ZipEntry(name, size, 0, self._position)
        self._write(local_header(entry))
        sums = Sums()
        written = 0
        for chunk in chunks:
            summed = self._pool.submit(sums.update, chunk) if len(chunk) >= _WORTH_A_THREAD_BYTES else sums.update(chunk)
            self._write(chunk)
            written += len(chunk)
            if summed is not None:
                summed.result()
        if written != size:
            raise Error("E0901", f"member '{name}' was to have {size} bytes and has {written}")
        entry = ZipEntry(name, size, sums.crc, entry.offset)
        os.pwrite(self._fd, local_header(entry), entry.offset)
        self._entries.append(entry)
        return sums.sha256.hexdigest()

    def finish(self, comment: Callable[[bytes], bytes]) -> None:
        """Write the central directory, and a comment made from its bytes."""
        offset = self._position
        central = b"".join(map(central_header, self._entries))
        self._write(central + end_records(len(self._entries), offset, len(central), comment(central)))

    def _write(self, data: bytes | memoryview) -> None:
        view = memoryview(data)
        self._position += len(view)
        while view:
            view = view[os.write(self._fd, view) :]
