"""Files that are read whole and stay as they were verified: copied if they are small, mapped and watched if they are not."""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ttc.dialects.core.errors import Error

COPIED_BYTES = 1 << 22
"""The most bytes of a file that is copied when it is opened; larger ones are mapped."""


@contextmanager
def in_file(path: Path) -> Iterator[None]:
    """Let errors name the file, and the place in it if they have one."""
    try:
        yield
    except Error as error:
        error.where = f"{path}: {error.where}" if error.where else str(path)
        raise


def read_file(path: Path) -> tuple[memoryview, OpenedFile | None]:
    """Return the whole file, read-only: a copy of a small one, else mapped, with the file.  Raises E0102, or E0701 if it is empty.

    A copy stays as it was verified whatever becomes of the file, so that short runs need not look at it each time.
    """
    fd = open_regular(path)
    try:
        size = os.fstat(fd).st_size
        if size == 0:
            raise Error("E0701", "the file is empty")
        if size <= COPIED_BYTES:
            pages = mmap.mmap(-1, size)  # tensors are aligned in the file, so they must be where it is copied to
            count = os.preadv(fd, [pages], 0)
            return memoryview(pages).toreadonly()[:count], None
        return memoryview(mmap.mmap(fd, size, access=mmap.ACCESS_READ)), OpenedFile(os.dup(fd))
    finally:
        os.close(fd)


def open_regular(path: Path) -> int:
    """Return a descriptor to read a file by.  Raises E0102 unless it is there and regular."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise Error("E0102", f"cannot open it: {reason}") from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise Error("E0102", "it is not a regular file")
    return fd


class OpenedFile:
    """An open file, and what its size and its last change were."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._then = self._now()

    def changed(self) -> bool:
        """Return whether the content of the file may be another, or less, than when it was opened."""
        return self._now() != self._then

    def _now(self) -> tuple[int, int]:
        status = os.fstat(self._fd)
        return status.st_size, status.st_mtime_ns

    def __del__(self) -> None:
        os.close(self._fd)


def give_back(data: memoryview, start: int, end: int) -> None:
    """Let the system take back the whole pages between two offsets: they come again from the file when they are read."""
    pages, first = data.obj, -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
    length = end // mmap.PAGESIZE * mmap.PAGESIZE - first
    if isinstance(pages, mmap.mmap) and length > 0 and hasattr(mmap, "MADV_DONTNEED"):
        pages.madvise(mmap.MADV_DONTNEED, first, length)
