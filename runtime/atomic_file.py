"""Replacing a file whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ttc.dialects.core.errors import Error
from ttc.runtime.temporary import new_file, remove_abandoned_files

_STEM = ".ttc"


@contextmanager
def replacing(path: Path) -> Iterator[int]:
    """Yield a descriptor to write the new content of `path` to; the file takes its place on success and leaves no trace on any failure.

    The content is written to a temporary file in the same folder, flushed to the disk and renamed.  What killed programs left in that
    folder is removed.
    Raises:  E0103 if the folder is missing, `path` is something else than a regular file, or writing fails.
    """
    check_replaceable(path)
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise _cannot_write(path, error) from None
    try:
        remove_abandoned_files(re.escape(_STEM), folder)
        with _replacing(path.name, folder) as fd:
            yield fd
    except OSError as error:
        raise _cannot_write(path, error) from None
    finally:
        os.close(folder)


@contextmanager
def _replacing(name: str, folder: int) -> Iterator[int]:
    """A descriptor to write the new content of a file of a folder to.  Raises OSError."""
    fd, temporary = new_file(_STEM, 0o666, folder)
    try:
        yield fd
        os.fsync(fd)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
    finally:
        os.close(fd)
    with suppress(OSError):  # make the renaming itself durable, where the file system can
        os.fsync(folder)


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
