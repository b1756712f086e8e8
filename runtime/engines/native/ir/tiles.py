"""Tile registers of AMX: eight matrices of 16 rows of 64 bytes, and products of bfloat16 and of bytes between them.

Where the CPU has feature `amx-bf16` (`amx-int8` for bytes), each method is one instruction, on tiles by fixed numbers.  With feature
`amx-emulated`, which no CPU has and tests ask for, tiles lie in the frame and loops do what the instructions do, to the bit: so all that is
written with tiles is tested on machines that have none.

Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, LDTILECFG, TDPBF16PS and
TDPBUSD.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from llvmlite import ir

from ttc.runtime.engines.native.codegen.features import EMULATED_TILES
from ttc.runtime.engines.native.ir.values import Value

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.writer import Writer

ROWS = 16
"""The rows of a tile register of the CPU."""
ROW_BYTES = 64
"""The bytes of a row of a tile: 16 numbers of 32 bits, 16 pairs of bfloat16, or 16 times four bytes."""
TILE_BYTES = ROWS * ROW_BYTES
COUNT = 8

_LANES = 16
_LEAST_NORMAL = 0x00800000
_WIDTHS, _HEIGHTS = 16, 48
"""The bytes from which on a configuration has the bytes of a row of each tile, in two bytes each, and its rows, in one."""


class Tiles:
    """The tiles of one function: configured first, released at its end."""

    def __init__(self, f: Writer) -> None:
        self._f = f
        self._channels: Value | None = None
        self._left: Sequence[int] = ()
        self._right: Sequence[int] = ()
        self._memory = f.static_array("u8", COUNT * TILE_BYTES) if f.cpu.has(EMULATED_TILES) else None

    def configure(self, channels: Value | None = None, left: Sequence[int] = (), right: Sequence[int] = ()) -> None:
        """Configure all tiles, filled with zeros, for this thread until they are released.

        Args:
            channels: how many of bfloat16, an even number up to 32, the tiles of left and right operands hold; others are neither loaded
                nor multiplied.  None: all tiles have their full size.
            left, right: numbers of those tiles.
        """
        f = self._f
        self._channels, self._left, self._right = channels, left, right
        if self._memory is not None:
            for tile in range(COUNT):
                self.zero(tile)
            return
        config = f.static_array("u64", ROW_BYTES // 8)
        for i, word in enumerate(_configuration()):
            f.store(f.constant(word, "u64"), f.at(config, i, "u64"))
        if channels is not None:
            for tile in left:
                f.store(f.converted(channels * 2, "u16"), f.at(config, _WIDTHS + 2 * tile, "i8"))
            for tile in right:
                f.store(f.converted(channels // 2, "u8"), f.at(config, _HEIGHTS + tile, "i8"))
        self._call("ldtilecfg", config)

    def release(self) -> None:
        """Release the tiles, so that the thread's state needs no room for them any more."""
        if self._memory is None:
            self._call("tilerelease")

    def zero(self, tile: int) -> None:
        """Set all elements of a tile to 0."""
        f = self._f
        if self._memory is None:
            self._call("tilezero", tile)
            return
        with f.loop(0, ROWS) as r:
            f.store(f.constant(0, "u32", _LANES), f.at(self._address(tile), r * ROW_BYTES, "i8"))

    def load(self, tile: int, pointer: Value, stride: Value) -> None:
        """Load 16 rows of 64 bytes into a tile.  stride: bytes from row to row, an i64."""
        f = self._f
        if self._memory is None:
            self._call("tileloadd64", tile, pointer, stride)
            return
        pairs = None if self._channels is None else self._channels // 2
        mask = f.mask(pairs, _LANES) if pairs is not None and tile in self._left else None
        with f.loop(0, pairs if pairs is not None and tile in self._right else ROWS) as r:
            row = f.load(f.at(pointer, r * stride, "i8"), "u32", _LANES, mask)
            f.store(row, f.at(self._address(tile), r * ROW_BYTES, "i8"))

    def store(self, tile: int, pointer: Value, stride: Value) -> None:
        """Store a tile as 16 rows of 64 bytes.  stride: bytes from row to row, an i64."""
        f = self._f
        if self._memory is None:
            self._call("tilestored64", tile, pointer, stride)
            return
        with f.loop(0, ROWS) as r:
            row = f.load(f.at(self._address(tile), r * ROW_BYTES, "i8"), "u32", _LANES)
            f.store(row, f.at(pointer, r * stride, "i8"))

    def dot(self, total: int, a: int, b: int) -> None:
        """Add a[16, 32] b[32, 16] to total[16, 16], with b in pairs: row k holds channels 2k and 2k + 1 of 16 columns, side by side.

        Sums of even and of odd channels are fused multiply-adds in float32, joined at the end; denormals count as zero, going in and
        coming out.
        """
        if self._memory is None:
            self._call("tdpbf16ps", total, a, b)
            return
        self._called("dot", self._write_dot, total, a, b)

    def _write_dot(self, f: Writer, total: Value, a: Value, b: Value) -> None:
        """Write what `dot` does with tiles at these addresses."""
        zero = f.constant(0.0, "f32", _LANES)
        with f.loop(0, ROWS) as m:
            even, odd = f.variable(zero), f.variable(zero)
            with f.loop(0, _LANES) as k:
                left = f.spread(f.load(f.at(f.at(a, m * ROW_BYTES, "i8"), k, "u32"), "u32"), _LANES)
                right = f.load(f.at(b, k * ROW_BYTES, "i8"), "u32", _LANES)
                for sums, halves in ((even, [x << 16 for x in (left, right)]), (odd, [x & 0xFFFF0000 for x in (left, right)])):
                    x, y = (_flushed(f, f.bits(half, "f32")) for half in halves)
                    sums.set(_flushed(f, f.fma(x, y, sums.get())))
            place = f.at(total, m * ROW_BYTES, "i8")
            found = _flushed(f, even.get() + odd.get())
            f.store(_flushed(f, _flushed(f, f.load(place, "f32", _LANES)) + found), place)

    def dot_bytes(self, total: int, a: int, b: int, *, signed: bool) -> None:
        """Add a[16, 64] b[64, 16] to total[16, 16] of i32, modulo 2^32; row k of b holds channels 4k to 4k + 3 of 16 columns, side by side.

        signed: whether the bytes of a are i8 or u8; those of b are i8.
        """
        if self._memory is None:
            self._call("tdpbssd" if signed else "tdpbusd", total, a, b)
            return
        self._called(f"dot_bytes_{'signed' if signed else 'unsigned'}", partial(self._write_dot_bytes, signed=signed), total, a, b)

    def _write_dot_bytes(self, f: Writer, total: Value, a: Value, b: Value, *, signed: bool) -> None:
        """Write what `dot_bytes` does with tiles at these addresses."""
        with f.loop(0, ROWS) as m:
            place = f.at(total, m * ROW_BYTES, "i8")
            sums = f.variable(f.load(place, "i32", _LANES))
            with f.loop(0, _LANES) as k:
                left = f.spread(f.load(f.at(f.at(a, m * ROW_BYTES, "i8"), k, "i32"), "i32"), _LANES)
                right = f.load(f.at(b, k * ROW_BYTES, "i8"), "i32", _LANES)
                for shift in (24, 16, 8, 0):
                    x, y = left << shift >> 24, right << shift >> 24
                    sums.set(sums.get() + (x if signed else x & 0xFF) * y)
            f.store(sums.get(), place)

    def _called(self, name: str, write: Callable[[Writer, Value, Value, Value], None], *tiles: int) -> None:
        """Call a function on the addresses of three tiles; the first call in a module writes it.

        Kernels multiply tiles in many places: the loops of all of them would take LLVM many times as long.
        """
        f = self._f
        function = f.module.globals.get(name)
        if function is None:
            inner = type(f)(name, f.cpu, f.module)
            function = inner.function
            function.linkage = "internal"
            write(inner, inner.words, inner.as_pointer(inner.begin), inner.as_pointer(inner.end))
            inner.builder.ret_void()
        total, a, b = (self._address(tile) for tile in tiles)
        f.builder.call(function, [total.llvm, f.as_integer(a).llvm, f.as_integer(b).llvm, f.scratch.llvm])

    def _address(self, tile: int) -> Value:
        assert self._memory is not None
        return self._f.at(self._memory, tile * TILE_BYTES, "i8")

    def _call(self, name: str, *operands: Value | int) -> None:
        """An intrinsic of LLVM; numbers of tiles are immediate bytes."""
        f = self._f
        full = f"llvm.x86.{name}"
        arguments = [ir.Constant(ir.IntType(8), x) if isinstance(x, int) else x.llvm for x in operands]
        function = f.module.globals.get(full)
        if function is None:
            function = ir.Function(f.module, ir.FunctionType(ir.VoidType(), [x.type for x in arguments]), full)
        f.builder.call(function, arguments)


def _flushed(f: Writer, x: Value) -> Value:
    """Return denormals as zeros of their sign."""
    bits = f.bits(x, "u32")
    return f.bits(f.select((bits & 0x7FFFFFFF) < _LEAST_NORMAL, bits & 0x80000000, bits), "f32")


def _configuration() -> Sequence[int]:
    """Return what LDTILECFG reads, as 64-bit words: palette 1, bytes of a row, and rows."""
    text = bytearray(ROW_BYTES)
    text[0] = 1
    for tile in range(COUNT):
        text[_WIDTHS + 2 * tile] = ROW_BYTES
        text[_HEIGHTS + tile] = ROWS
    return [int.from_bytes(text[i : i + 8], "little") for i in range(0, ROW_BYTES, 8)]
