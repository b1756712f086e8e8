"""Room for libraries of native code: where a process may have little address space (`ulimit -v`), whether it suffices is asked before.

Without it they end the process themselves: OpenBLAS, which numpy loads, prints and exits, the dynamic linker aborts.
"""

from __future__ import annotations

import mmap
import resource
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from ttc.dialects.core.errors import Error
from ttc.runtime.cpu import available_cores

_MB = 1 << 20
NEEDED: dict[str, Callable[[], int]] = {
    "numpy": lambda: (58 + 42 * available_cores()) * _MB,
    "ml_dtypes": lambda: 16 * _MB,
    "onnx": lambda: 48 * _MB,
    "llvmlite": lambda: 200 * _MB,
    "torch": lambda: 1024 * _MB,
}
"""The bytes of address space that a package takes to be loaded, as measured, and some to work in; OpenBLAS takes 42 MB a thread."""


class _Room(MetaPathFinder):
    """Asks for room where one of the packages is about to be loaded, and leaves finding it to others."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Raises E0104 if there is too little room."""
        if fullname in NEEDED:
            if fullname != "numpy" and "numpy" not in sys.modules:  # native code loads it, which prints what it meets
                require_room("numpy", NEEDED["numpy"]())
            require_room(fullname, NEEDED[fullname]())
        return None


@contextmanager
def room_for_libraries() -> Iterator[None]:
    """Refuse, inside the block, to load a library that does not fit into the address space of the process: E0104."""
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        yield
        return
    finder = _Room()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def require_room(name: str, size_bytes: int) -> None:
    """Raises E0104 unless so much address space is free; it is given back at once."""
    try:
        mmap.mmap(-1, size_bytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ).close()
    except (OSError, MemoryError):
        raise no_room(f"{name} needs {size_bytes // _MB} MB of address space to be loaded") from None


def no_room(message: str) -> Error:
    """Return an error of the machine; the hint names the limit that is in force."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    hint = "free some, or take a smaller model"
    if limit != resource.RLIM_INFINITY:
        hint = f"this process may have {limit // _MB} MB: raise the limit (ulimit -v)"
    return Error("E0104", f"there is not enough memory: {message}", hint=hint)
