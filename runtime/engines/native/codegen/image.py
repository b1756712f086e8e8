"""Code in memory: pieces of linked code behind each other, in pages that can be executed and not written.

image = map_code([code])                   # Image
image.addresses[0]["k"]                    # an address to call, as long as the image is open
"""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from collections.abc import Mapping, Sequence

from ttc.dialects.core.errors import Error
from ttc.runtime.engines.native.codegen.linked_code import ALIGNMENT, LinkedCode

_WORD = (1 << 64) - 1
_FAILED = _WORD
"""What mmap returns for (void*) -1."""

_LIBC = ctypes.CDLL(None, use_errno=True)
_MMAP, _MPROTECT, _MUNMAP = _LIBC.mmap, _LIBC.mprotect, _LIBC.munmap
_MMAP.restype = ctypes.c_void_p
_MMAP.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
_MPROTECT.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_MUNMAP.argtypes = (ctypes.c_void_p, ctypes.c_size_t)


class Image:
    """Executable memory, given back by `close`, or when nothing refers to the image any more; not at the end of the process, where threads
    of native code may still be in it.

    addresses: of each piece's functions, by name, in the order of the pieces.
    """

    def __init__(self, base: int, size_bytes: int, addresses: tuple[Mapping[str, int], ...]) -> None:
        self.base = base
        self.size_bytes = size_bytes
        self.addresses = addresses
        self.close = weakref.finalize(self, _MUNMAP, base, size_bytes)
        """Give the memory back: no address may be used afterwards.  More than once does nothing."""
        self.close.atexit = False


def map_code(pieces: Sequence[LinkedCode], outside: Mapping[str, int] | None = None) -> Image:
    """Put code into executable memory and join it.

    Args:
        pieces: at least one of them; names may repeat from one to the next.
        outside: addresses of functions that the pieces do not have themselves; default: there are none.
    Raises:  E0901 if a piece needs a name that is not among those; E0104 if the system gives no executable memory.
    """
    starts, size = [], 0
    for piece in pieces:
        starts.append(size)
        size += -(-len(piece.code) // ALIGNMENT) * ALIGNMENT
    content = bytearray(size)
    base = _pages(size)
    image = Image(base, size, tuple(_addresses(piece, base + start) for start, piece in zip(starts, pieces, strict=True)))
    for start, piece in zip(starts, pieces, strict=True):
        content[start : start + len(piece.code)] = piece.code
        for place, name, addend in piece.slots:
            address = _outside(name, outside or {}) if name else base + start
            content[start + place : start + place + 8] = (address + addend & _WORD).to_bytes(8, "little")
    ctypes.memmove(base, (ctypes.c_char * size).from_buffer(content), size)
    if _MPROTECT(base, size, mmap.PROT_READ | mmap.PROT_EXEC):
        raise _refused()
    return image


def _addresses(piece: LinkedCode, base: int) -> dict[str, int]:
    return {name: base + offset for name, offset in piece.symbols.items()}


def _outside(name: str, outside: Mapping[str, int]) -> int:
    if name not in outside:
        raise Error("E0901", f"internal error: generated code calls '{name}', which it has not been given")
    return outside[name]


def _pages(size: int) -> int:
    """Address of new memory to write to."""
    base = _MMAP(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    if base is None or base == _FAILED:
        raise _refused()
    return base


def _refused() -> Error:
    reason = os.strerror(ctypes.get_errno())
    return Error("E0104", f"the system gives no memory for generated code: {reason}", hint="use --engine reference")
