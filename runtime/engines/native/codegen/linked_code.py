"""Code that can be put anywhere, and its form as bytes: what the cache holds.

    LinkedCode.unpack(code.pack()) == code

Form: three 32-bit counts (bytes of code, symbols, slots); a symbol: offset (32 bits), length of its name (16), name; a slot: offset (32),
addend (64, signed), length of its name (16), name; the code.  Little-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record

MAX_BYTES = 64 << 20
"""The most bytes of the code of one object."""
MAX_NAME = 512
"""The most bytes of a symbol's name."""
ALIGNMENT = 64
"""The alignment of code in memory, in bytes: the begin of a cache line."""

_COUNTS, _SYMBOL, _SLOT = struct.Struct("<III"), struct.Struct("<IH"), struct.Struct("<IqH")


@record
class LinkedCode:
    """Code and constants of one object, for any address that is a multiple of ALIGNMENT.

    Args:
        code: the bytes, to be mapped readable and executable.
        symbols: offsets of the functions that others may call, by name.
        slots: 8-byte words to fill: (offset, name, addend); the word takes the address of the function outside that is called so, or with
               an empty name the address of the code itself, plus the addend.  Code that calls nothing has none.
    """

    code: bytes
    symbols: Mapping[str, int]
    slots: tuple[tuple[int, str, int], ...] = ()

    def pack(self) -> bytes:
        """Return the linked code as bytes, for the cache."""
        parts = [_COUNTS.pack(len(self.code), len(self.symbols), len(self.slots))]
        for name, offset in self.symbols.items():
            parts += [_SYMBOL.pack(offset, len(name)), name.encode("ascii")]
        for offset, name, addend in self.slots:
            parts += [_SLOT.pack(offset, addend, len(name)), name.encode("ascii")]
        return b"".join([*parts, self.code])

    @staticmethod
    def unpack(data: bytes) -> LinkedCode:
        """Return linked code from bytes. Raises E0901 if they are not such a form, or an offset is outside the code."""
        try:
            return _unpack(data)
        except (struct.error, ValueError) as error:
            raise Error("E0901", f"internal error: this is no linked code: {error}") from None


def _unpack(data: bytes) -> LinkedCode:
    size, symbol_count, slot_count = _COUNTS.unpack_from(data)
    at, symbols, slots = _COUNTS.size, dict[str, int](), list[tuple[int, str, int]]()
    for _ in range(symbol_count):
        offset, length = _SYMBOL.unpack_from(data, at)
        at += _SYMBOL.size + length
        symbols[_name(data[at - length : at], length)] = _inside(offset, 1, size)
    for _ in range(slot_count):
        offset, addend, length = _SLOT.unpack_from(data, at)
        at += _SLOT.size + length
        slots.append((_inside(offset, 8, size), _name(data[at - length : at], length), addend))
    if len(data) - at != size or size > MAX_BYTES:
        raise ValueError(f"{len(data) - at} bytes of code where {size} were announced")
    return LinkedCode(data[at:], symbols, tuple(slots))


def _name(data: bytes, length: int) -> str:
    if len(data) != length or length > MAX_NAME:
        raise ValueError(f"a name of {length} bytes")
    return data.decode("ascii")


def _inside(offset: int, width: int, size: int) -> int:
    if offset + width > size:
        raise ValueError(f"offset {offset} is outside {size} bytes of code")
    return offset
