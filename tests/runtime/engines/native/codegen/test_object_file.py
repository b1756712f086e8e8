"""Objects become code: relocations of every kind that LLVM makes, and objects that are damaged."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from functools import cache

import pytest

from ttc.dialects.core.errors import Error
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.codegen.image import map_code
from ttc.runtime.engines.native.codegen.linked_code import ALIGNMENT
from ttc.runtime.engines.native.codegen.machine_code import object_code
from ttc.runtime.engines.native.codegen.object_file import link

pytestmark = pytest.mark.skipif(host_cpu().arch != "x86-64", reason="knows objects of x86-64")

KINDS = """
@table = internal constant [4 x float] [float 1.0, float 2.0, float 3.0, float 4.0]
declare i32 @outside(i32)
define internal i32 @inside(i32 %x) noinline {
entry:
  %y = mul i32 %x, 3
  ret i32 %y
}
define void @k(ptr %p, i64 %a, i64 %b, ptr %s) {
entry:
  %q = getelementptr [4 x float], ptr @table, i64 0, i64 %a
  %v = load float, ptr %q
  %w = fmul float %v, 1.25
  store float %w, ptr %p
  %r = call i32 @outside(i32 5)
  %x = getelementptr i32, ptr %p, i64 1
  store i32 %r, ptr %x
  %y = getelementptr i32, ptr %p, i64 2
  store ptr @outside, ptr %y
  %z = getelementptr i32, ptr %p, i64 4
  %i = call i32 @inside(i32 7)
  store i32 %i, ptr %z
  %n = getelementptr i32, ptr %p, i64 5
  switch i64 %b, label %out [ i64 0, label %s0
    i64 1, label %s1
    i64 2, label %s2
    i64 3, label %s3
    i64 4, label %s4 ]
s0:
  store volatile i32 10, ptr %n
  ret void
s1:
  store volatile i16 11, ptr %n
  ret void
s2:
  store volatile i8 12, ptr %n
  ret void
s3:
  store volatile i64 13, ptr %n
  ret void
s4:
  %ignored = load volatile i64, ptr %n
  ret void
out:
  ret void
}
"""
"""Constants, a jump table, a call inside, a call and an address outside."""


@cache
def kinds() -> bytes:
    return object_code(KINDS, host_cpu())


def test_names_that_are_outside() -> None:
    code = link(kinds())
    assert set(code.symbols) == {"k"}  # internal functions are nobody else's
    assert {name for _, name, _ in code.slots} == {"outside"}
    assert link(kinds()) == code
    with pytest.raises(Error) as failure:
        map_code([code])
    assert (failure.value.code, "'outside'" in failure.value.message) == ("E0901", True)


def section_at(data: bytes, kind: int, flags: int = 0) -> int:
    """Offset of the head of the first section of that type with those flags."""
    start, count = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
    for offset in range(start, start + 64 * count, 64):
        found, bits = struct.unpack_from("<IQ", data, offset + 4)[0], struct.unpack_from("<Q", data, offset + 8)[0]
        if found == kind and bits & flags == flags:
            return offset
    raise AssertionError(kind)


def write(form: str, place: Callable[[bytes], int], value: int) -> Callable[[bytearray], None]:
    """A change of an object: a number at a place."""
    return lambda data: struct.pack_into(form, data, place(bytes(data)), value)


def relocation(data: bytes) -> int:
    return struct.unpack_from("<Q", data, section_at(data, 4) + 24)[0]


HUGE = (1 << 64) - 8
DAMAGE = {
    "no ELF": write("<B", lambda _: 0, 0),
    "32 bits": write("<B", lambda _: 4, 1),
    "big-endian": write("<B", lambda _: 5, 2),
    "a program": write("<H", lambda _: 16, 2),
    "another machine": write("<H", lambda _: 18, 183),
    "sections nowhere": write("<Q", lambda _: 40, HUGE),
    "sections of another size": write("<H", lambda _: 58, 40),
    "no section": write("<H", lambda _: 60, 0),
    "sections past the end": write("<H", lambda _: 60, 4000),
    "code nowhere": write("<Q", lambda data: section_at(data, 1, 4) + 24, HUGE),
    "code too long": write("<Q", lambda data: section_at(data, 1, 4) + 32, 1 << 40),
    "code that is written to": write("<Q", lambda data: section_at(data, 1, 4) + 8, 7),
    "a thread's own": write("<Q", lambda data: section_at(data, 1, 4) + 8, 0x406),
    "compressed": write("<Q", lambda data: section_at(data, 1, 4) + 8, 0x806),
    "memory without content": write("<I", lambda data: section_at(data, 1, 4) + 4, 8),
    "odd alignment": write("<Q", lambda data: section_at(data, 1, 4) + 48, 48),
    "huge alignment": write("<Q", lambda data: section_at(data, 1, 4) + 48, 1 << 32),
    "no symbols": write("<I", lambda data: section_at(data, 2) + 4, 1),
    "symbols of another size": write("<Q", lambda data: section_at(data, 2) + 56, 16),
    "half a symbol": write("<Q", lambda data: section_at(data, 2) + 32, 25),
    "symbols without names": write("<I", lambda data: section_at(data, 2) + 40, 1 << 20),
    "names of another kind": write("<I", lambda data: section_at(data, 2) + 40, 2),
    "relocations of other symbols": write("<I", lambda data: section_at(data, 4) + 40, 1),
    "relocations without addends": write("<I", lambda data: section_at(data, 4) + 4, 9),
    "half a relocation": write("<Q", lambda data: section_at(data, 4) + 32, 23),
    "relocations nowhere": write("<Q", lambda data: section_at(data, 4) + 24, HUGE),
    "a place outside": write("<Q", relocation, 1 << 30),
    "a place before": write("<q", relocation, -4),
    "a place half outside": write("<Q", relocation, struct.unpack_from("<Q", b"\xff" * 8)[0] >> 33),
    "an unknown symbol": write("<I", lambda data: relocation(data) + 12, 99),
    "an unknown kind": write("<I", lambda data: relocation(data) + 8, 11),
    "a distance too far": write("<q", lambda data: relocation(data) + 16, 1 << 40),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage(name: str) -> None:
    data = bytearray(kinds())
    DAMAGE[name](data)
    with pytest.raises(Error) as failure:
        link(bytes(data))
    assert failure.value.code == "E0901"
    assert "this object of machine code cannot be used" in failure.value.message


def test_objects_cut_off() -> None:
    data = kinds()
    for size in range(0, len(data), 7):
        with pytest.raises(Error):
            link(data[:size])


def test_mutated_objects_are_refused_or_stay_inside() -> None:
    """Bytes of heads, symbols and relocations, changed at random; what is still an object has all its places inside."""
    source, refused = random.Random(7), 0
    for _ in range(4000):
        data = bytearray(kinds())
        for _ in range(source.randint(1, 3)):
            data[source.randrange(len(data))] = source.choice((0, 1, 2, 4, 8, 0x7F, 0x80, 0xFF, source.randrange(256)))
        try:
            code = link(bytes(data))
        except Error:
            refused += 1
            continue
        assert all(0 <= place <= len(code.code) for place in code.symbols.values())
        assert all(0 <= place <= len(code.code) - 8 for place, _, _ in code.slots)
    assert 400 < refused < 3900


def test_constants_that_need_more_than_a_cache_line() -> None:
    text = "@big = constant [4 x i64] [i64 1, i64 2, i64 3, i64 4], align 128\n" + KINDS
    with pytest.raises(Error) as failure:
        link(object_code(text, host_cpu()))
    assert f"multiples of {ALIGNMENT}" in failure.value.message


def test_memory_that_is_written_to() -> None:
    text = "@counter = global i64 5\n" + KINDS
    with pytest.raises(Error) as failure:
        link(object_code(text, host_cpu()))
    assert "is not code or constants" in failure.value.message
