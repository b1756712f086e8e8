"""From an ELF object to code that can be put anywhere: the linking of one object, done once, where it is made.

    code = link(object_code(text, cpu))        # LinkedCode(code=b"...", symbols={"k": 0}, slots=())

LLVM makes relocatable objects whose sections refer to each other by distance.  `link` lays the sections out behind each other and
fills in those distances; what is left are `slots`, words that take an absolute address when the code is mapped.  Code of x86-64 only.
Nothing of the object is trusted: every offset, count and size is checked against the bytes there are.

Source: System V ABI, AMD64 supplement: object files and relocations.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.runtime.engines.native.codegen.linked_code import ALIGNMENT, MAX_BYTES, MAX_NAME, LinkedCode

MAX_SECTIONS, MAX_SYMBOLS, MAX_RELOCATIONS = 1 << 12, 1 << 16, 1 << 20
"""The most sections, symbols and relocations of an object."""

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")

_RELOCATABLE, _X86_64 = 1, 62
_PROGBITS, _SYMTAB, _STRTAB, _RELA, _NOBITS, _REL, _UNWIND = 1, 2, 3, 4, 8, 9, 0x70000001
_WRITE, _ALLOC, _EXECUTE, _TLS, _COMPRESSED = 0x1, 0x2, 0x4, 0x400, 0x800
_FUNCTION, _LOCAL, _UNDEFINED = 2, 0, 0
_NONE, _ABS64, _PC32, _PLT32, _GOTPCREL, _PC64, _GOTPCRELX, _REX_GOTPCRELX = 0, 1, 2, 4, 9, 24, 41, 42
_JUMP = b"\xff\x25\x00\x00\x00\x00" + bytes(8)
"""jmp [rip]: to the address in the word that follows."""


@record
class _Section:
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int

    @property
    def loaded(self) -> bool:
        return bool(self.flags & _ALLOC) and self.size > 0


@record
class _Symbol:
    """place: offset in the code; None for what is not part of it: then a name says that it is to be had outside."""

    name: str
    place: int | None
    exported: bool


@dataclass
class _Image:
    """The code as it grows: sections, then jumps and addresses of what is outside."""

    code: bytearray = field(default_factory=bytearray)
    places: dict[int, int] = field(default_factory=dict)
    slots: list[tuple[int, str, int]] = field(default_factory=list)
    words: dict[tuple[str, int], int] = field(default_factory=dict)
    jumps: dict[str, int] = field(default_factory=dict)

    def append(self, data: bytes, alignment: int) -> int:
        """Offset of the data in the code."""
        place = -(-len(self.code) // alignment) * alignment
        if place + len(data) > MAX_BYTES:
            raise _bad("its code is larger than any kernel")
        self.code.extend(bytes(place - len(self.code)) + data)
        return place

    def word_of(self, name: str, addend: int) -> int:
        """Offset of a word that will hold that address."""
        key = (name, addend)
        if key not in self.words:
            self.words[key] = self.append(bytes(8), 8)
            self.slots.append((self.words[key], name, addend))
        return self.words[key]

    def jump_to(self, name: str) -> int:
        """Offset of an instruction that jumps to a function outside, however far it is."""
        if name not in self.jumps:
            self.jumps[name] = self.append(_JUMP, 16)
            self.slots.append((self.jumps[name] + 6, name, 0))
        return self.jumps[name]


def link(data: bytes) -> LinkedCode:
    """Return the code in an ELF64 relocatable object for x86-64.

    Raises:  E0901 for anything else, memory that would be written to, and relocations that generated code does not have.
    """
    sections = list(_sections(data))
    image = _Image()
    for executable in (True, False):
        for index, section in enumerate(sections):
            if section.loaded and bool(section.flags & _EXECUTE) == executable:
                image.places[index] = image.append(_contents(data, section), _alignment(section))
    tables = [index for index, section in enumerate(sections) if section.kind == _SYMTAB]
    if len(tables) != 1:
        raise _bad(f"it has {len(tables)} tables of symbols")
    symbols = list(_symbols(data, sections, tables[0], image.places))
    for section in sections:
        if section.kind in (_RELA, _REL) and section.info in image.places:
            _relocate(data, section, sections, tables[0], symbols, image)
    exported = {symbol.name: symbol.place for symbol in symbols if symbol.exported and symbol.place is not None}
    return LinkedCode(bytes(image.code), exported, tuple(image.slots))


# ---- the parts of an object -----------------------------------------------------------------------------------------------------


def _sections(data: bytes) -> Iterator[_Section]:
    if len(data) > MAX_BYTES:
        raise _bad("it is larger than any kernel")
    header = _HEADER.unpack(_range(data, 0, _HEADER.size))
    ident, kind, machine, start, entry_size, count = header[0], header[1], header[2], header[6], header[11], header[12]
    if ident[:7] != b"\x7fELF\x02\x01\x01" or kind != _RELOCATABLE or machine != _X86_64:
        raise _bad("it is not a relocatable ELF object for x86-64")
    if entry_size != _SECTION.size or not 0 < count <= MAX_SECTIONS:
        raise _bad(f"it has {count} sections of {entry_size} bytes")
    for values in _SECTION.iter_unpack(_range(data, start, count * _SECTION.size)):
        yield _Section(*values)


def _contents(data: bytes, section: _Section) -> bytes:
    """Return bytes of a section that is loaded."""
    if section.kind not in (_PROGBITS, _UNWIND) or section.flags & (_WRITE | _TLS | _COMPRESSED):
        raise _bad(f"a section of type {section.kind:#x} and flags {section.flags:#x} is not code or constants")
    return _range(data, section.offset, section.size)


def _alignment(section: _Section) -> int:
    alignment = max(section.alignment, 1)
    if alignment > ALIGNMENT or alignment & (alignment - 1):
        raise _bad(f"a section is aligned to {alignment} bytes: code is put at multiples of {ALIGNMENT}")
    return ALIGNMENT if section.flags & _EXECUTE else alignment


def _symbols(data: bytes, sections: list[_Section], table: int, places: Mapping[int, int]) -> Iterator[_Symbol]:
    section = sections[table]
    if section.entry_size != _SYMBOL.size or section.size % _SYMBOL.size or section.size > MAX_SYMBOLS * _SYMBOL.size:
        raise _bad("its table of symbols has no usable size")
    if section.link >= len(sections) or sections[section.link].kind != _STRTAB:
        raise _bad("its symbols have no names")
    names = _range(data, sections[section.link].offset, sections[section.link].size)
    for name, info, _, index, value, _ in _SYMBOL.iter_unpack(_range(data, section.offset, section.size)):
        text = _text(names, name)
        if index not in places:
            yield _Symbol(text if index == _UNDEFINED else "", None, False)
            continue
        if value > sections[index].size:
            raise _bad(f"symbol '{text}' is outside its section")
        yield _Symbol(text, places[index] + value, info & 15 == _FUNCTION and info >> 4 != _LOCAL)


def _text(names: bytes, start: int) -> str:
    end = names.find(b"\0", start, start + MAX_NAME + 1) if start < len(names) else -1
    if end < 0:
        raise _bad("a name has no end")
    try:
        return names[start:end].decode("ascii")
    except UnicodeDecodeError:
        raise _bad("a name is not ASCII") from None


# ---- relocations ----------------------------------------------------------------------------------------------------------------


def _relocate(data: bytes, section: _Section, sections: list[_Section], table: int, symbols: list[_Symbol], image: _Image) -> None:
    """Fill in what the instructions of one section refer to."""
    if section.kind != _RELA or section.entry_size != _RELOCATION.size or section.link != table:
        raise _bad("its relocations are of another kind")
    if section.size % _RELOCATION.size or section.size > MAX_RELOCATIONS * _RELOCATION.size:
        raise _bad("its relocations have no usable size")
    base, size = image.places[section.info], sections[section.info].size
    for offset, info, addend in _RELOCATION.iter_unpack(_range(data, section.offset, section.size)):
        kind, index = info & 0xFFFFFFFF, info >> 32
        if index >= len(symbols):
            raise _bad("a relocation names a symbol that does not exist")
        if kind == _NONE:
            continue
        width = 8 if kind in (_ABS64, _PC64) else 4
        if offset + width > size:
            raise _bad("a relocation is outside its section")
        _fill(image, base + offset, kind, symbols[index], addend)


def _fill(image: _Image, place: int, kind: int, symbol: _Symbol, addend: int) -> None:
    if symbol.place is None and not symbol.name:
        raise _bad("a relocation names a symbol that is nowhere")
    if kind == _ABS64:
        image.slots.append((place, "", symbol.place + addend) if symbol.place is not None else (place, symbol.name, addend))
        return
    if kind in (_GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX):
        target = image.word_of("", symbol.place) if symbol.place is not None else image.word_of(symbol.name, 0)
    elif symbol.place is not None and kind in (_PC32, _PLT32, _PC64):
        target = symbol.place
    elif kind == _PLT32:
        target = image.jump_to(symbol.name)
    else:
        raise _bad(f"relocation {kind} of '{symbol.name}' is none that generated code has")
    distance, width = target + addend - place, 8 if kind == _PC64 else 4
    if not -(1 << (8 * width - 1)) <= distance < 1 << (8 * width - 1):
        raise _bad("a relocation reaches too far")
    image.code[place : place + width] = distance.to_bytes(width, "little", signed=True)


def _range(data: bytes, start: int, size: int) -> bytes:
    if start + size > len(data):
        raise _bad("it ends too early")
    return data[start : start + size]


def _bad(reason: str) -> Error:
    return Error("E0901", f"internal error: this object of machine code cannot be used: {reason}")
