"""The version of the code generator: made code is good as long as this is the same."""

from __future__ import annotations

import hashlib
import importlib.util
from functools import cache
from pathlib import Path

_SOURCES = Path(__file__).parent


@cache
def generator_version() -> bytes:
    """A hash of the sources of the native engine and of the installed LLVM, which is not imported for it (about 2 ms)."""
    digest = hashlib.sha256(_llvm_version())
    for path in sorted(_SOURCES.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(_SOURCES).as_posix()} {len(content)} ".encode())
        digest.update(content)
    return digest.digest()


def _llvm_version() -> bytes:
    """llvmlite's own record of its version: reading the package's metadata takes ten times as long."""
    found = importlib.util.find_spec("llvmlite")
    if found is None or found.origin is None:
        return b""
    return (Path(found.origin).parent / "_version.py").read_bytes()
