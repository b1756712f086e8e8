"""The version of the code generator: made code is good as long as this is the same."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_SOURCES = Path(__file__).parent
_PROCESS = Path("/proc/self/stat")
_START_FIELD = 19
"""Behind the name of the process in that file: when it began, in clock ticks since the system did (proc_pid_stat(5), field 22)."""


@cache
def generator_version() -> bytes | None:
    """A hash of the sources of the native engine and of the installed LLVM, which is not imported for it (about 2 ms).

    None: a source was changed since this process began, so that the files may not be what was loaded.
    """
    digest = hashlib.sha256(_llvm_version())
    began = _process_start()
    for path in sorted(_sources(_SOURCES)):
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_mtime > began:
                return None
            content = file.read()
        digest.update(f"{path.removeprefix(str(_SOURCES))} {len(content)} ".encode())
        digest.update(content)
    return digest.digest()


def _sources(folder: Path) -> Iterator[str]:
    for where, _, names in os.walk(folder):
        yield from (os.path.join(where, name) for name in names if name.endswith(".py"))


def _process_start() -> float:
    """When this process began, in seconds since 1970; now, where the system does not tell."""
    now = time.time()
    try:
        fields = _PROCESS.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        ticks = int(fields[_START_FIELD])
        return now - time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return now


def _llvm_version() -> bytes:
    """llvmlite's own record of its version: reading the package's metadata takes ten times as long."""
    found = importlib.util.find_spec("llvmlite")
    if found is None or found.origin is None:
        return b""
    return (Path(found.origin).parent / "_version.py").read_bytes()
