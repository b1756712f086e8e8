"""Replacing a file whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ttc.dialects.core.errors import Error


@contextmanager
def replacing(path: Path) -> Iterator[int]:
    """A descriptor to write the new content of `path` to; it takes its place on success and leaves no trace on any failure.

    The content is written to a temporary file in the same folder, flushed to the disk and renamed.
    Raises:  E0103 if the folder is missing, `path` is something else than a regular file, or writing fails.
    """
    check_replaceable(path)
    temporary = path.parent / f".ttc-{os.urandom(8).hex()}.tmp"
    try:
        fd = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise _cannot_write(path, error) from None
    try:
        try:
            yield fd
            os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            raise _cannot_write(path, error) from None
        raise
    _sync_folder(path.parent)


def check_replaceable(path: Path) -> None:
    """Raises E0103 unless `path` is a regular file, or free and in a folder that exists."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        if path.parent.is_dir():
            return
        raise Error("E0103", f"cannot write {path}: there is no folder {path.parent}") from None
    except (OSError, ValueError) as error:
        raise _cannot_write(path, error) from None
    if not stat.S_ISREG(mode):
        raise Error("E0103", f"cannot write {path}: it exists and is not a regular file")


def _cannot_write(path: Path, error: OSError | ValueError) -> Error:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return Error("E0103", f"cannot write {path}: {reason}", hint="make room, or write elsewhere" if full else None)


def _sync_folder(folder: Path) -> None:
    """Make the renaming itself durable, where the file system can."""
    with suppress(OSError):
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
