"""Files of a model that lie beneath its folder, opened without following anything out of it."""

from __future__ import annotations

import mmap
import os
import stat
from pathlib import Path

from ttc.dialects.core.errors import Error


def map_beneath(folder: Path, parts: tuple[str, ...], what: str) -> mmap.mmap | bytes:
    """Map a file, opened component by component, following no link.

    Args:    folder: that all lies in.  parts: of the path beneath it, none of them `..` or empty.  what: how messages call the file.
    Raises:  E0204 for what is not a regular file, or is a hard link; OSError or ValueError if it cannot be opened.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for index, part in enumerate(parts):
            kind = os.O_NONBLOCK if index == len(parts) - 1 else os.O_DIRECTORY
            inner = os.open(part, flags | kind, dir_fd=handle)
            os.close(handle)
            handle = inner
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise Error("E0204", f"{what} is not a regular file")
        if status.st_nlink > 1:
            raise Error("E0204", f"{what} is a hard link", hint="copy the file")
        return mmap.mmap(handle, 0, access=mmap.ACCESS_READ) if status.st_size else b""
    finally:
        os.close(handle)
