"""Convolutions with filters of 3 x 3 taps at stride 1, by Winograd's way: 2.25 (m = 2) or 4 (m = 4) times fewer multiplications.

The result is cut into tiles of m x m pixels.  For a chunk of tiles a task brings patches of (m + 2) x (m + 2) input pixels into a form in
which the convolution is elementwise but for the sum over channels: (m + 2)^2 matrix products of tiles by channels and channels by
outputs, which it brings back into pixels and takes through the region.  All that lies between stays in the second-level cache.

Measured on a core of AMD Zen 4, in percent of what direct sums could reach at best (118 GFLOP/s): m = 2: 190 at 56x56x64 and 28x28x128,
210 at 14x14x256, 150 at 7x7x512 (a filter of 17 MB, a fifth of the tiles beyond the edge), 115 at 256x256x16; m = 4: 320, 350, 275, 185.

An infinity, a NaN or a number near the largest would spread to all pixels of its tile: where a chunk's patches hold one, the task sums
directly, from the filter as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ttc.runtime.engines.native.kernel import Kernel
from ttc.runtime.engines.native.kernels.gemm_block import Block, Operands, emit_sums
from ttc.runtime.engines.native.kernels.gemm_finish import Finish, emit_fetch, emit_row, masks_are_cheap
from ttc.runtime.engines.native.kernels.gemm_rows import POINTER_BYTES
from ttc.runtime.engines.native.kernels.shares import shares_of
from ttc.runtime.engines.native.kernels.winograd_matrices import TAPS, combined, matrices
from ttc.runtime.engines.native.kernels.words import Words
from ttc.runtime.engines.native.region import Region
from ttc.runtime.engines.native.storage import Storage
from ttc.runtime.engines.native.tensors import ALIGNMENT

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value, Variable
    from ttc.runtime.engines.native.ir.writer import Writer

LIMIT_EXPONENT = 50
"""Sums of patches below 2 to this, times filters below 2 to this, over any number of channels, stay finite."""
_EXPONENT_BIAS, _MANTISSA_BITS, _MAGNITUDE = 127, 23, 0x7FFFFFFF
"""Of float32: bits of magnitudes are ordered as magnitudes are, with infinity and NaN above all numbers."""
LIMIT_BITS = (LIMIT_EXPONENT + _EXPONENT_BIAS) << _MANTISSA_BITS
"""That limit as the bits of a float32."""
_SIZES = ("channels", "columns", "tiles", "y_tiles", "x_tiles", "chunks", "panels", "panel_chunks", "row_blocks", "most_tiles")
_IMAGE = ("y_size", "x_size", "y_windows", "x_windows", "y_before", "x_before")


@dataclass(frozen=True)
class Winograd(Kernel):
    """c = region(x convolved with w, others...).

    Args:
        outputs: m.
        block: of sums in registers.
        region, spread: see `Finish`.
        filter: element type of w.

    Tasks: (range of panels, range of tiles), the latter fastest.  Words: `names`; strides in bytes.  a: x[n, h, w, c] in float32, dense in
    channels, of which there is a multiple of the vector; u: the filter in panels (`WinogradFilter`); w: the filter itself, dense.
    Scratch: `scratch_bytes`.
    """

    outputs: int
    block: Block
    region: Region
    spread: tuple[bool, ...]
    filter: Storage = "f32"

    @property
    def patch(self) -> int:
        """Pixels along each side of a patch."""
        return self.outputs + TAPS - 1

    @property
    def finish(self) -> Finish:
        """What becomes of sums."""
        return Finish(self.region, self.spread, self.block.columns, self.block.lanes)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the words of a job."""
        tensors = ("a", "c", *self.finish.others)
        strides = (f"{tensor}_{axis}" for tensor in tensors for axis in ("image", "y", "x"))
        return (*_SIZES, *_IMAGE, "u", "w", *tensors, *strides)

    def scratch_bytes(self, channels: int, most_tiles: int) -> int:
        """That a thread needs: zeros, addresses of pixels, patches, sums, and pixels of one tile."""
        points = self.patch**2
        fixed = channels * 4 + _aligned(points * POINTER_BYTES) + self.outputs**2 * self.block.columns * 4
        return fixed + points * most_tiles * (channels + self.block.columns) * 4

    def emit(self, f: Writer) -> None:
        words = Words(f, self.names)
        memory = self._memory(f, words)
        with f.loop(0, words["channels"]) as c:
            f.store(f.constant(0.0, "f32"), f.at(memory.zeros, c, "f32"))
        with f.loop(f.begin, f.end) as task:
            chunks = words["chunks"]
            tiles = shares_of(words["tiles"], chunks).span(task % chunks)
            panels = shares_of(words["panels"], words["panel_chunks"]).span(task // chunks)
            largest = f.variable(f.constant(0, "i32", self.block.lanes))
            with f.loop(*tiles) as tile:
                self._patch(f, words, memory, tile, tiles, largest)
            with f.choice(f.folded("maximum", largest.get()) < LIMIT_BITS) as (tame, wild):
                with tame, f.loop(*panels) as panel:
                    self._fetch(f, words, tiles, panel)
                    self._products(f, words, memory, tiles, panel)
                    with f.loop(*tiles) as tile:
                        self._tile(f, words, memory, tile, tiles)
                        self._pixels(f, words, memory, tile, panel, direct=False)
                with wild, f.loop(*panels) as panel, f.loop(*tiles) as tile:
                    self._pixels(f, words, memory, tile, panel, direct=True)

    def _memory(self, f: Writer, words: Words) -> _Memory:
        channels, tiles = words["channels"], words["most_tiles"]
        points = self.patch**2
        zeros = f.scratch
        pixels = f.at(zeros, channels * 4, "i8")
        tile = f.at(pixels, _aligned(points * POINTER_BYTES), "i8")
        patches = f.at(tile, self.outputs**2 * self.block.columns * 4, "i8")
        return _Memory(zeros, pixels, tile, patches, f.at(patches, tiles * channels * (points * 4), "i8"))

    def _place(self, words: Words, tile: Value) -> dict[str, Value]:
        """Image of a tile, and its first pixel in the result."""
        across, down = words["x_tiles"], words["y_tiles"]
        line = tile // across
        return {"image": line // down, "y": line % down * self.outputs, "x": tile % across * self.outputs}

    def _patch(self, f: Writer, words: Words, memory: _Memory, tile: Value, tiles: tuple[Value, Value], largest: Variable) -> None:
        """The patch of a tile, transformed: patches[point, tile, channel]."""
        place, size = self._place(words, tile), self.patch
        image = f.at(words.pointer("a"), place["image"] * words["a_image"], "i8")
        first, corner = tile - tiles[0], {axis: place[axis] - words[f"{axis}_before"] for axis in ("y", "x")}
        target = f.at(memory.patches, first * words["channels"], "f32")
        inside = [_inside(corner[axis], words[f"{axis}_size"] - (size - 1)) for axis in ("y", "x")]
        down, across = words["a_y"], words["a_x"]
        with f.choice(inside[0] & inside[1]) as (inner, border):
            with inner:
                start = f.at(image, corner["y"] * down + corner["x"] * across, "i8")
                lines = [f.at(start, down * i, "i8") for i in range(size)]
                self._transform(f, words, target, tiles, largest, lambda i, j: f.at(lines[i], across * j, "i8"))
            with border:
                with f.loop(0, size) as i, f.loop(0, size) as j:
                    f.store(_pixel(f, words, memory, image, place, (i, j)), f.at(memory.pixels, i * size + j, "ptr"))
                self._transform(f, words, target, tiles, largest, lambda i, j: f.load(f.at(memory.pixels, i * size + j, "ptr"), "ptr"))

    def _transform(
        self,
        f: Writer,
        words: Words,
        target: Value,
        tiles: tuple[Value, Value],
        largest: Variable,
        pixel: Callable[[int, int], Value],
    ) -> None:
        """The pixels of a patch, given their addresses, to the same channel at all points, `target` being that of the first."""
        channels, lanes, size = words["channels"], self.block.lanes, self.patch
        step = (tiles[1] - tiles[0]) * channels
        matrix = matrices(self.outputs).bt
        with f.loop(0, channels, lanes) as c:
            columns: list[list[Value]] = []
            for j in range(size):
                column = [f.load(f.at(pixel(i, j), c, "f32"), "f32", lanes) for i in range(size)]
                for value in column:
                    largest.set(f.larger(largest.get(), f.bits(value, "i32") & _MAGNITUDE))
                columns.append(combined(f, matrix, column))
            for i in range(size):
                for j, value in enumerate(combined(f, matrix, [column[i] for column in columns])):
                    f.store(value, f.at(target, step * (i * size + j) + c, "f32"))

    def _products(self, f: Writer, words: Words, memory: _Memory, tiles: tuple[Value, Value], panel: Value) -> None:
        """sums[point, tile, column] of a panel."""
        channels, block = words["channels"], self.block
        count, blocks = tiles[1] - tiles[0], words["row_blocks"]
        spans = shares_of(count, blocks)
        with f.loop(0, self.patch**2) as point, f.loop(0, blocks) as number:
            first, last = spans.span(number)
            left = f.at(memory.patches, (point * count + first) * channels, "f32")
            right = f.at(words.pointer("u"), (panel * self.patch**2 + point) * channels * block.columns, "f32")
            target = f.at(memory.sums, (point * count + first) * block.columns, "f32")
            for rows in block.counts:
                addresses = [f.at(left, channels * r, "f32") for r in range(rows)]
                with f.when((last - first).equals(rows)):
                    operands = Operands(lambda _, addresses=addresses: addresses, right, f.constant(1, "i64"), channels)
                    emit_sums(f, block, rows, operands, "f32", target)

    def _tile(self, f: Writer, words: Words, memory: _Memory, tile: Value, tiles: tuple[Value, Value]) -> None:
        """The pixels of a tile, from sums: tile[pixel, column]."""
        block, size, outputs = self.block, self.patch, self.outputs
        step = (tiles[1] - tiles[0]) * block.columns
        matrix = matrices(outputs).at
        with f.loop(0, block.columns, block.lanes) as v:
            start = f.at(memory.sums, (tile - tiles[0]) * block.columns + v, "f32")
            columns = [
                combined(f, matrix, [f.load(f.at(start, step * (i * size + j), "f32"), "f32", block.lanes) for i in range(size)])
                for j in range(size)
            ]
            for i in range(outputs):
                for j, value in enumerate(combined(f, matrix, [column[i] for column in columns])):
                    f.store(value, f.at(memory.tile, v + (i * outputs + j) * block.columns, "f32"))

    def _pixels(self, f: Writer, words: Words, memory: _Memory, tile: Value, panel: Value, *, direct: bool) -> None:
        """Take the pixels of a tile that lie in the result through the region, and store them.  direct: sum them first."""
        place = self._place(words, tile)
        down, across = (f.smaller(words[f"{axis}_windows"] - place[axis], self.outputs) for axis in ("y", "x"))
        with f.loop(0, down) as i, f.loop(0, across) as j:
            pixel = {"image": place["image"], "y": place["y"] + i, "x": place["x"] + j}
            sums = f.at(memory.tile, (i * self.outputs + j) * self.block.columns, "f32")
            if direct:
                self._sum_directly(f, words, memory, pixel, panel, sums)
            emit_row(f, self.finish, sums, self._rows(f, words, pixel), (panel * self.block.columns, words["columns"]))

    def _rows(self, f: Writer, words: Words, pixel: dict[str, Value]) -> dict[str, Value]:
        """Addresses of a pixel of the result and of the region's further tensors."""
        rows: dict[str, Value] = {}
        for name in ("c", *self.finish.others):
            offset = f.constant(0, "i64")
            for axis, index in pixel.items():
                offset = offset + index * words[f"{name}_{axis}"]
            rows[name] = f.at(words.pointer(name), offset, "i8")
        return rows

    def _fetch(self, f: Writer, words: Words, tiles: tuple[Value, Value], panel: Value) -> None:
        """Bring near what the region will read and write: lines far apart, which the hardware does not foresee."""
        with f.loop(*tiles) as tile:
            place = self._place(words, tile)
            down, across = (f.smaller(words[f"{axis}_windows"] - place[axis], self.outputs) for axis in ("y", "x"))
            with f.loop(0, down) as i, f.loop(0, across) as j:
                rows = self._rows(f, words, {"image": place["image"], "y": place["y"] + i, "x": place["x"] + j})
                emit_fetch(f, self.finish, rows, panel * self.block.columns, 2)

    def _sum_directly(self, f: Writer, words: Words, memory: _Memory, pixel: dict[str, Value], panel: Value, sums: Value) -> None:
        """Sums of one pixel, tap by tap."""
        columns, channels = words["columns"], words["channels"]
        lanes = self.block.lanes if masks_are_cheap(f) else 1
        image = f.at(words.pointer("a"), pixel["image"] * words["a_image"], "i8")
        start = panel * self.block.columns
        with f.loop(0, f.smaller(columns - start, self.block.columns), lanes) as v:
            mask = f.mask(columns - start - v, lanes) if lanes > 1 else None
            total = f.variable(f.constant(0.0, "f32", lanes))
            with f.loop(0, TAPS) as i, f.loop(0, TAPS) as j:
                source = _pixel(f, words, memory, image, pixel, (i, j))
                with f.loop(0, channels) as c:
                    row = f.at(words.pointer("w"), ((i * TAPS + j) * channels + c) * columns + start + v, self.filter)
                    left = f.spread(f.load(f.at(source, c, "f32"), "f32"), lanes)
                    total.set(f.fma(left, f.read(row, self.filter, lanes, mask), total.get()))
            f.store(total.get(), f.at(sums, v, "f32"))


@dataclass(frozen=True)
class _Memory:
    """Of a thread.

    Args:
        zeros: a pixel outside the image.
        pixels: addresses of the pixels of a patch.
        tile: pixels of one tile, of one panel.
        patches, sums: by point, tile and channel, or column of one panel.
    """

    zeros: Value
    pixels: Value
    tile: Value
    patches: Value
    sums: Value


@dataclass(frozen=True)
class WinogradFilter(Kernel):
    """Brings a filter w[3, 3, channels, columns], dense, into panels u[panel, point, channel, column of the panel].

    Tasks: a channel each.  Words: `names`.
    """

    outputs: int
    columns: int
    lanes: int
    source: Storage

    names: ClassVar[tuple[str, ...]] = ("w", "u", "channels", "columns")

    def emit(self, f: Writer) -> None:
        words = Words(f, self.names)
        channels, columns = words["channels"], words["columns"]
        matrix, points = matrices(self.outputs).g, (self.outputs + TAPS - 1) ** 2
        with f.loop(f.begin, f.end) as c, f.loop(0, columns, self.columns) as start, f.loop(0, self.columns, self.lanes) as v:
            left = columns - start - v
            mask = f.mask(left, self.lanes)
            taps: list[list[Value]] = []
            for j in range(TAPS):
                places = [((i * TAPS + j) * channels + c) * columns + start + v for i in range(TAPS)]
                column = [f.read(f.at(words.pointer("w"), place, self.source), self.source, self.lanes, mask) for place in places]
                taps.append(combined(f, matrix, column))
            panel = f.at(words.pointer("u"), start * channels * points + c * self.columns + v, "f32")
            for i in range(len(matrix)):
                for j, value in enumerate(combined(f, matrix, [column[i] for column in taps])):
                    f.store(value, f.at(panel, channels * self.columns * (i * len(matrix) + j), "f32"))


def _pixel(f: Writer, words: Words, memory: _Memory, image: Value, place: dict[str, Value], tap: tuple[Value, Value]) -> Value:
    """Address of the pixel that a tap of the window at `place` meets."""
    y, x = (place[axis] + offset - words[f"{axis}_before"] for axis, offset in zip(("y", "x"), tap, strict=True))
    inside = _inside(y, words["y_size"]) & _inside(x, words["x_size"])
    return f.select(inside, f.at(image, y * words["a_y"] + x * words["a_x"], "i8"), memory.zeros)


def _inside(index: Value, size: Value) -> Value:
    f = index.f
    return f.converted(index, "u64") < f.converted(size, "u64")


def _aligned(size_bytes: int) -> int:
    return -(-size_bytes // ALIGNMENT) * ALIGNMENT
