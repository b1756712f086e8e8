"""The smallest program that TT-NN's loader of kernels takes: one instruction, which returns."""

from __future__ import annotations

import struct

RETURN = struct.pack("<I", 0x00008067)
BASE = 0x5000
HEADER, SEGMENT, SECTION = 52, 32, 40
"""The bytes of ELF's three kinds of header, for 32 bits."""
NAMES = b"\0.text\0.rela.text\0.symtab\0.strtab\0.shstrtab\0"
STRINGS = b"\0_start\0"


def kernel_bytes() -> bytes:
    """Return an executable of RISC-V, 32 bits, with the sections that TT-NN's loader asks for: code, its relocations, and symbols."""
    symbols = bytes(16) + struct.pack("<IIIBBH", 1, BASE, len(RETURN), 0x12, 0, 1)
    contents = [RETURN, b"", symbols, STRINGS, NAMES]
    start = HEADER + SEGMENT
    offsets = [start + sum(map(len, contents[:index])) for index in range(len(contents))]
    body = b"".join(contents)
    body += bytes(-(start + len(body)) % 4)
    sections = bytes(SECTION) + b"".join(
        (
            _section(".text", 1, 6, BASE, offsets[0], len(RETURN), 0, 0, 4, 0),
            _section(".rela.text", 4, 0x40, 0, offsets[1], 0, 3, 1, 4, 12),
            _section(".symtab", 2, 0, 0, offsets[2], len(symbols), 4, 1, 4, 16),
            _section(".strtab", 3, 0, 0, offsets[3], len(STRINGS), 0, 0, 1, 0),
            _section(".shstrtab", 3, 0, 0, offsets[4], len(NAMES), 0, 0, 1, 0),
        )
    )
    identity = b"\x7fELF" + bytes([1, 1, 1, 0]) + bytes(8)
    executable, riscv, count, names = 2, 243, 6, 5
    rest = (1, BASE, HEADER, start + len(body), 0, HEADER, SEGMENT, 1, SECTION, count, names)
    header = identity + struct.pack("<HHIIIIIHHHHHH", executable, riscv, *rest)
    segment = struct.pack("<8I", 1, start, BASE, BASE, len(RETURN), len(RETURN), 5, 4)
    return header + segment + body + sections


def _section(name: str, *fields: int) -> bytes:
    """Return a header of a section: kind, flags, address, offset, size, link, info, alignment and size of an entry."""
    return struct.pack("<10I", NAMES.index(b"\0" + name.encode() + b"\0") + 1, *fields)
