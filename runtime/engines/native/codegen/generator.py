"""Versions of what makes code and plans: both are good as long as these are the same."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ttc.dialects import core

_SOURCES = Path(__file__).parents[1]
_PACKAGES = (Path(core.__file__).parents[1], Path(__file__).parents[3])
"""Dialects and runtime: all that decides what a netlist becomes."""
_PROCESS = Path("/proc/self/stat")
_START_FIELD = 19
"""Behind the name of the process in that file: when it began, in clock ticks since the system did (proc_pid_stat(5), field 22)."""


@cache
def generator_version() -> bytes | None:
    """Return a hash of the sources of the native engine and of the installed LLVM, which is not imported for it (about 2 ms).

    None: a source was changed since this process began, so that the files may not be what was loaded.
    """
    digest = hashlib.sha256(_llvm_version())
    began = _process_start()
    for source in _sources(_SOURCES):
        with open(source, "rb") as file:
            if os.fstat(file.fileno()).st_mtime > began:
                return None
            content = file.read()
        digest.update(f"{source.path.removeprefix(str(_SOURCES))} {len(content)} ".encode())
        digest.update(content)
    return digest.digest()


def planner_version() -> bytes | None:
    """Return the version of the sources of dialects and runtime (about 1 ms); None: one was changed since this process began."""
    return sources_version(_PACKAGES)


@cache
def sources_version(packages: tuple[Path, ...]) -> bytes | None:
    """Return a hash of sizes and times of the sources in some folders, and of where they are.

    None: a source was changed since this process began.  Python trusts its own compiled files by size and time, too; here the time of
    the last change to each file's entry, which no program can set, makes up for archives that unpack all files with one time.
    """
    digest = hashlib.sha256()
    began = _process_start()
    for package in packages:
        for source in _sources(package):
            status = source.stat()
            if status.st_mtime > began:
                return None
            digest.update(f"{source.path} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} ".encode())
    return digest.digest()


def _sources(folder: str | Path) -> Iterator[os.DirEntry[str]]:
    """Python files in a folder and those in it, in the same order each time."""
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.endswith(".py"):
            yield entry
        elif entry.name != "__pycache__" and entry.is_dir():
            yield from _sources(entry.path)


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
