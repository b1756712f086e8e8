"""Code in memory: pieces of linked code behind each other, in pages that can be executed and not written.

image = map_code([code])                   # Image
image.addresses[0]["k"]                    # an address to call, as long as the image is open
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Mapping, Sequence

from ttc.dialects.core.errors import Error
from ttc.runtime.engines.native.linked_code import ALIGNMENT, LinkedCode

_WORD = (1 << 64) - 1


class Image:
    """Executable memory, given back by `close`, or when nothing refers to it any more.

    addresses: of each piece's functions, by name, in the order of the pieces.
    """

    def __init__(self, pages: mmap.mmap | None, addresses: tuple[Mapping[str, int], ...]) -> None:
        self._pages = pages
        self.addresses = addresses

    @property
    def size_bytes(self) -> int:
        """Of the memory in use."""
        return 0 if self._pages is None or self._pages.closed else len(self._pages)

    def close(self) -> None:
        """Give the memory back: no address may be used afterwards.  More than once does nothing."""
        if self._pages is not None:
            self._pages.close()


def map_code(pieces: Sequence[LinkedCode], outside: Mapping[str, int] | None = None) -> Image:
    """Put code into memory.

    Args:
        pieces: any number of them; names may repeat from one to the next.
        outside: addresses of functions that the pieces do not have themselves; default: there are none.
    Raises:  E0901 if a piece needs a name that is not among those; E0104 if the system gives no executable memory.
    """
    starts, size = [], 0
    for piece in pieces:
        starts.append(size)
        size += -(-len(piece.code) // ALIGNMENT) * ALIGNMENT
    if not size:
        return Image(None, tuple({} for _ in pieces))
    try:
        pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise _refused(error.errno or 0) from None
    base = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    for start, piece in zip(starts, pieces, strict=True):
        pages[start : start + len(piece.code)] = piece.code
        for place, name, addend in piece.slots:
            address = _address(name, outside or {}) if name else base + start
            pages[start + place : start + place + 8] = (address + addend & _WORD).to_bytes(8, "little")
    _protect(base, size)
    addresses = tuple(
        {name: base + start + place for name, place in piece.symbols.items()} for start, piece in zip(starts, pieces, strict=True)
    )
    return Image(pages, addresses)


def _address(name: str, outside: Mapping[str, int]) -> int:
    if name not in outside:
        raise Error("E0901", f"internal error: generated code calls '{name}', which it has not been given")
    return outside[name]


def _protect(base: int, size: int) -> None:
    """Readable and executable from now on, and not writable."""
    mprotect = ctypes.CDLL(None, use_errno=True).mprotect
    mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    if mprotect(base, size, mmap.PROT_READ | mmap.PROT_EXEC):
        raise _refused(ctypes.get_errno())


def _refused(code: int) -> Error:
    return Error("E0104", f"the system gives no memory for generated code: {os.strerror(code)}", hint="use --engine reference")
