"""Temporary files and folders that the next program removes where the one that made them was killed.

Who makes one holds a lock on it (flock) for as long as it lives; the system gives the lock up with the process.  So what is not locked
was abandoned.  A file system without locks keeps what is left there.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_FOUND_FILE = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
_RANDOM = "[0-9a-f]{16}"


def new_file(stem: str, mode: int, folder_fd: int) -> tuple[int, str]:
    """Make the file `STEM-<random>.tmp` in a folder; gives its descriptor, which holds it, and its name.  Raises OSError."""
    while True:
        name = f"{stem}-{os.urandom(8).hex()}.tmp"
        fd = os.open(name, _NEW_FILE, mode, dir_fd=folder_fd)
        if _hold(fd, name, folder_fd):
            return fd, name
        os.close(fd)


def remove_abandoned_files(stem: str, folder_fd: int) -> None:
    """Remove files that `new_file` made in a folder for this user, and that no process holds.  stem: a regular expression."""
    form = re.compile(f"{stem}-{_RANDOM}\\.tmp")
    with suppress(OSError):
        for name in os.listdir(folder_fd):
            if form.fullmatch(name):
                with suppress(OSError):
                    _remove_abandoned(name, folder_fd)


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Yield a folder among the system's temporary ones, removed at the end with all it holds; those of killed processes go first. Raises
    OSError.
    """
    parent = Path(tempfile.gettempdir())
    for left in parent.glob(f"{prefix}*"):
        with suppress(OSError):
            _remove_abandoned(str(left), None)
    while True:
        folder = tempfile.mkdtemp(prefix=prefix)
        fd = os.open(folder, _FOLDER)
        if _hold(fd, folder, None):
            break
        os.close(fd)
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(fd)


def _hold(fd: int, name: str, folder_fd: int | None) -> bool:
    """Mark what was just made as in use; False if another program took it for abandoned meanwhile."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.stat(name, dir_fd=folder_fd, follow_symlinks=False), os.fstat(fd))
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError:  # there are no locks here, and nobody removes what has none
        return True


def _remove_abandoned(name: str, folder_fd: int | None) -> None:
    """Remove a file or folder of this user that nobody holds.  Raises OSError for all others."""
    found = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    if found.st_uid != os.geteuid() or not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        return
    is_folder = stat.S_ISDIR(found.st_mode)
    fd = os.open(name, _FOLDER if is_folder else _FOUND_FILE, dir_fd=folder_fd)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(name, ignore_errors=True) if is_folder else os.unlink(name, dir_fd=folder_fd)
    finally:
        os.close(fd)
