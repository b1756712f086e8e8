"""Convolutions with filters of 3 x 3 taps at stride 1, by Winograd's way: 2.25 (m = 2) or 4 (m = 4) times fewer multiplications.

The result is cut into tiles of m x m pixels.  For a chunk of tiles a task brings patches of (m + 2) x (m + 2) input pixels into a form in
which the convolution is elementwise but for the sum over channels: (m + 2)^2 matrix products of tiles by channels and channels by
outputs, which it brings back into pixels and takes through the region.  All that lies between stays in the second-level cache.  Where
several tasks share a chunk, patches are prepared by a job before (`WinogradPatches`): few tiles of many channels, whose filter is large.
Where so few meet a filter that is computed at each run, tasks transform their panels of it themselves.

Measured on a core of AMD Zen 4, in percent of what direct sums could reach at best (118 GFLOP/s): m = 2: 190 at 56x56x64 and 28x28x128,
210 at 14x14x256, 150 at 7x7x512 (a filter of 17 MB, a fifth of the tiles beyond the edge), 115 at 256x256x16; m = 4: 320, 350, 275, 185.
On two cores of AMD Zen 3 with AVX2 (206 GFLOP/s): m = 2: 165 at 56x56x64, 170 at 28x28x128, 190 at 14x14x256, 135 at 7x7x512, 100 at
256x256x16; m = 4: 250, 285, 230, no gain at 7x7x512, 140.  Whole tiles go through short regions in registers there: 9 percent of a U-Net.

An infinity, a NaN or a number near the largest would spread to all pixels of its tile: where a chunk's patches or the filter hold one, the
task sums directly, from the filter as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.region import Region
from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.kernels.gemm_block import Block, Operands, emit_block, emit_kept, emit_sums
from ttc.runtime.engines.native.kernels.gemm_finish import Finish, emit_fetch, emit_row, emit_vector, is_short
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.shares import shares_of
from ttc.runtime.engines.native.kernels.winograd_filter import FILTER_STRIDES, WinogradFilter, filter_address, point_step
from ttc.runtime.engines.native.kernels.winograd_matrices import TAPS, combined, matrices
from ttc.runtime.engines.native.kernels.winograd_patches import IMAGE, WinogradTiles, pixel_address
from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

LIMIT_EXPONENT = 50
"""The power of two below which sums of patches, and filters, must be: their products, over any number of channels, then stay finite."""
_EXPONENT_BIAS, _MANTISSA_BITS = 127, 23
LIMIT_BITS = (LIMIT_EXPONENT + _EXPONENT_BIAS) << _MANTISSA_BITS
"""The limit as the bits of a float32, which are ordered as magnitudes are."""
_SIZES = ("columns", "tiles", "y_windows", "x_windows", "chunks", "panels", "panel_chunks", "row_blocks", "most_tiles")
_PREPARED = ("v", "peaks", "parts")
_CHANNELS = 64
"""The channels of a panel that a task transforms at a time, where it does."""


@dataclass(frozen=True)
class WinogradProducts(JobKernel):
    """A kernel that multiplies patches of images, and takes sums through a region.

    Args:
        outputs: m.
        block: of sums in registers.
        region, spread: see `Finish`.
        image: element type of images.
    """

    outputs: int
    block: Block
    region: Region
    spread: tuple[bool, ...]
    image: Storage

    @property
    def tiles(self) -> WinogradTiles:
        """How images are cut into tiles."""
        return WinogradTiles(self.outputs, self.block.lanes, self.image)

    @property
    def finish(self) -> Finish:
        """The function of sums before they are stored."""
        return Finish(self.region, self.spread, self.block.columns, self.block.lanes)


@dataclass(frozen=True)
class Winograd(WinogradProducts):
    """The kernel of Winograd's way: c = region(x convolved with w, others...).

    Args:
        image, filter: element types of a and w.
        prepared: whether patches are there, by `WinogradPatches` with as many chunks and so many parts: v, peaks, parts.
        watched: whether the filter may hold any number: `filter_peaks` then has bits of its largest magnitudes, one a channel.
        taps: None: the filter is there, in panels; else tasks transform their part of it themselves, and it says how its taps lie: see
            `WinogradFilter`.

    Tasks: (range of panels, range of tiles), the latter fastest.  Words: `names`; strides in bytes.  a: x[n, h, w, c], dense in
    channels, of which there is a multiple of the vector; u: the filter in panels; w: the filter itself (both see `winograd_filter`).
    Scratch: `scratch_bytes`.
    """

    filter: Storage
    prepared: bool = False
    watched: bool = False
    taps: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        tensors = ("c", *self.finish.others)
        strides = (f"{tensor}_{axis}" for tensor in tensors for axis in ("image", "y", "x"))
        more = (*(_PREPARED if self.prepared else ()), *(("filter_peaks",) if self.watched and self.taps is None else ()))
        return (*_SIZES, *IMAGE, *more, *(("u",) if self.taps is None else ()), "w", *FILTER_STRIDES, *tensors, *strides)

    def scratch_bytes(self, channels: int, most_tiles: int) -> int:
        """Return the bytes of scratch memory that one thread needs: zeros, addresses of pixels, pixels of one tile, a tap of the filter,
        patches, sums, and channels of the filter at all points."""
        fixed = self.tiles.table_bytes(channels) + (self.outputs**2 + channels) * self.block.columns * 4
        patches = 0 if self.prepared else self.tiles.elements(most_tiles, channels)
        filter_part = 0 if self.taps is None else self.tiles.points * self._filter_step
        return fixed + 4 * (patches + self.tiles.elements(most_tiles, self.block.columns) + filter_part)

    @property
    def _filter_step(self) -> int:
        """The elements from one point to the next of the channels of the filter that a task has transformed."""
        return point_step(_CHANNELS, self.block.columns, gap=True)

    def emit_job(self, f: Writer, words: Words) -> None:
        self.tiles.emit_zeros(f, words)
        is_known = self.watched and self.taps is None
        filter_peak = self._largest(f, words.pointer("filter_peaks"), words["channels"]) if is_known else f.constant(0, "u32")
        with f.loop(f.begin, f.end) as task:
            chunks = words["chunks"]
            chunk = task % chunks
            tiles = shares_of(words["tiles"], chunks).span(chunk)
            panels = shares_of(words["panels"], words["panel_chunks"]).span(task // chunks)
            memory = self._memory(f, words, chunk, tiles[0])
            peak = self._peak(f, words, chunk) if self.prepared else self._patches(f, words, memory, tiles)
            with f.choice(f.larger(peak, filter_peak) < LIMIT_BITS) as (tame, wild):
                with tame, f.loop(*panels) as panel:
                    self._fetch(f, words, tiles, panel)
                    if self.taps is None:
                        self._products(f, words, memory, tiles, panel)
                        self._finish_all(f, words, memory, tiles, panel)
                    else:
                        peak = self._with_filter(f, words, memory, tiles, panel)
                        with f.choice(peak < LIMIT_BITS) as (calm, strange):
                            with calm:
                                self._finish_all(f, words, memory, tiles, panel)
                            with strange:
                                self._directly(f, words, memory, tiles, panel)
                with wild, f.loop(*panels) as panel:
                    self._directly(f, words, memory, tiles, panel)

    def _memory(self, f: Writer, words: Words, chunk: Value, first: Value) -> _Memory:
        """For a chunk of tiles, given its first one."""
        channels = words["channels"]
        tile = f.at(f.scratch, channels * 4 + self.tiles.table_bytes(0), "i8")
        tap = f.at(tile, self.outputs**2 * self.block.columns, "f32")
        part = f.at(tap, channels * self.block.columns, "f32")
        after = part if self.taps is None else f.at(part, self.tiles.points * self._filter_step, "f32")
        if self.prepared:
            return _Memory(tile, tap, self.tiles.chunk(words, chunk, first), after, part)
        return _Memory(tile, tap, after, f.at(after, self.tiles.step(words["most_tiles"], channels) * self.tiles.points, "f32"), part)

    def _peak(self, f: Writer, words: Words, chunk: Value) -> Value:
        """Bits of the largest magnitude in the patches of a chunk."""
        parts = words["parts"]
        return self._largest(f, f.at(words.pointer("peaks"), chunk * parts, "u32"), parts)

    def _largest(self, f: Writer, peaks: Value, count: Value) -> Value:
        """Return the largest of so many u32."""
        largest = f.variable(f.constant(0, "u32"))
        with f.loop(0, count) as i:
            largest.set(f.larger(largest.get(), f.load(f.at(peaks, i, "u32"), "u32")))
        return largest.get()

    def _patches(self, f: Writer, words: Words, memory: _Memory, tiles: tuple[Value, Value]) -> Value:
        """Prepare the patches of a chunk; gives the same."""
        channels, largest = words["channels"], f.variable(f.constant(0, "u32", self.block.lanes))
        with f.loop(*tiles) as tile:
            target = f.at(memory.patches, (tile - tiles[0]) * channels, "f32")
            self.tiles.emit(f, words, tile, target, self.tiles.step(tiles[1] - tiles[0], channels), largest)
        return f.folded("larger", largest.get())

    def _products(self, f: Writer, words: Words, memory: _Memory, tiles: tuple[Value, Value], panel: Value) -> None:
        """sums[point, tile, column] of a panel."""
        channels, block = words["channels"], self.block
        count, blocks = tiles[1] - tiles[0], words["row_blocks"]
        step = point_step(channels, block.columns, gap=self.watched)
        spans = shares_of(count, blocks)
        with f.loop(0, self.tiles.points) as point, f.loop(0, blocks) as number:
            first, last = spans.span(number)
            left = f.at(memory.patches, point * self.tiles.step(count, channels) + first * channels, "f32")
            right = f.at(words.pointer("u"), (panel * self.tiles.points + point) * step, "f32")
            target = f.at(memory.sums, point * self.tiles.step(count, block.columns) + first * block.columns, "f32")
            for rows in block.counts:
                addresses = [f.at(left, channels * r, "f32") for r in range(rows)]
                with f.when((last - first).equals(rows)):
                    operands = Operands(lambda _, addresses=addresses: addresses, right, f.constant(1, "i64"), channels)
                    emit_sums(f, block, rows, operands, "f32", target)

    def _with_filter(self, f: Writer, words: Words, memory: _Memory, tiles: tuple[Value, Value], panel: Value) -> Value:
        """sums[point, tile, column] of a panel, whose filter is transformed some channels at a time; gives the largest one's bits.

        What is transformed stays in the second-level cache, and is never in main memory: a gain where few tiles meet a large filter.
        """
        block, step = self.block, f.constant(self._filter_step, "i64")
        kernel = WinogradFilter(self.outputs, block.columns, block.lanes, self.filter, self.taps or 0, True)
        largest, channels = f.variable(f.constant(0, "u32", block.lanes)), words["channels"]
        with f.loop(0, channels, _CHANNELS) as start:
            depth = f.smaller(channels - start, _CHANNELS)
            with f.loop(0, depth) as c, f.loop(0, block.columns, block.lanes) as v:
                target = f.at(memory.filter_part, c * block.columns + v, "f32")
                kernel.emit_vector(f, words, (start + c, panel * block.columns + v), target, step, largest)
            with f.loop(0, self.tiles.points) as point:
                right = f.at(memory.filter_part, step * point, "f32")
                self._add_products(f, words, memory, tiles, point, (right, start, depth))
        return f.folded("larger", largest.get())

    def _add_products(
        self, f: Writer, words: Words, memory: _Memory, tiles: tuple[Value, Value], point: Value, part: tuple[Value, Value, Value]
    ) -> None:
        """Add to sums at a point what some channels give.  part: the filter there, the first channel, how many there are."""
        channels, block, (right, start, depth) = words["channels"], self.block, part
        count, blocks = tiles[1] - tiles[0], words["row_blocks"]
        spans = shares_of(count, blocks)
        with f.loop(0, blocks) as number:
            first, last = spans.span(number)
            left = f.at(memory.patches, point * self.tiles.step(count, channels) + first * channels + start, "f32")
            target = f.at(memory.sums, point * self.tiles.step(count, block.columns) + first * block.columns, "f32")
            for rows in block.counts:
                with f.when((last - first).equals(rows)):
                    addresses = [f.at(left, channels * r, "f32") for r in range(rows)]
                    operands = Operands(lambda _, found=addresses: found, right, f.constant(1, "i64"), depth)
                    emit_kept(f, block, emit_block(f, block, rows, operands, "f32"), target, start.equals(0))

    def _finish_all(self, f: Writer, words: Words, memory: _Memory, tiles: tuple[Value, Value], panel: Value) -> None:
        """All tiles of a panel, from sums to the result."""
        with f.loop(*tiles) as tile:
            self._finish(f, words, memory, tile, tiles, panel)

    def _finish(self, f: Writer, words: Words, memory: _Memory, tile: Value, tiles: tuple[Value, Value], panel: Value) -> None:
        """A tile of a panel, from sums to the result: whole ones in registers, where the region is short."""
        sums = f.at(memory.sums, (tile - tiles[0]) * self.block.columns, "f32")
        step = self.tiles.step(tiles[1] - tiles[0], self.block.columns)
        if not is_short(self.region) or f.cpu.vector_bytes != 32:
            self._tile(f, memory, sums, step)
            self._pixels(f, words, memory.tile, tile, panel)
            return
        place, start = self.tiles.place(words, tile), panel * self.block.columns
        inside = [place[axis] + self.outputs <= words[f"{axis}_windows"] for axis in ("y", "x")]
        with f.choice(inside[0] & inside[1] & (start + self.block.columns <= words["columns"])) as (whole, part):
            with whole:
                corner = self._rows(f, words, place)
                down = [{name: f.at(row, words[f"{name}_y"] * i, "i8") for name, row in corner.items()} for i in range(self.outputs)]

                def act(v: Value, i: int, j: int, value: Value) -> None:
                    rows = {name: f.at(row, words[f"{name}_x"] * j, "i8") for name, row in down[i].items()}
                    emit_vector(f, self.finish, value, rows, start + v, self.block.lanes)

                self._each_pixel(f, sums, step, act)
            with part:
                self._tile(f, memory, sums, step)
                self._pixels(f, words, memory.tile, tile, panel)

    def _tile(self, f: Writer, memory: _Memory, sums: Value, step: Value) -> None:
        """The pixels of a tile, from sums: tile[pixel, column]."""

        def act(v: Value, i: int, j: int, value: Value) -> None:
            f.store(value, f.at(memory.tile, v + (i * self.outputs + j) * self.block.columns, "f32"))

        self._each_pixel(f, sums, step, act)

    def _each_pixel(self, f: Writer, sums: Value, step: Value, act: Callable[[Value, int, int, Value], None]) -> None:
        """Hand over vectors of the pixels (i, j) of a tile, given the address of its sums at the first point: (column, i, j, vector)."""
        block, size, outputs = self.block, self.tiles.patch, self.outputs
        matrix = matrices(outputs).at
        with f.loop(0, block.columns, block.lanes) as v:
            start = f.at(sums, v, "f32")
            columns = [
                combined(f, matrix, [f.load(f.at(start, step * (i * size + j), "f32"), "f32", block.lanes) for i in range(size)])
                for j in range(size)
            ]
            for i in range(outputs):
                for j, value in enumerate(combined(f, matrix, [column[i] for column in columns])):
                    act(v, i, j, value)

    def _pixels(self, f: Writer, words: Words, sums: Value, tile: Value, panel: Value) -> None:
        """Take the pixels of a tile that lie in the result, sums[pixel, column], through the region, and store them."""
        with self._inside(f, words, tile) as (pixel, number):
            row = f.at(sums, number * self.block.columns, "f32")
            emit_row(f, self.finish, row, self._rows(f, words, pixel), (panel * self.block.columns, words["columns"]))

    @contextmanager
    def _inside(self, f: Writer, words: Words, tile: Value) -> Iterator[tuple[dict[str, Value], Value]]:
        """For each pixel of a tile that lies in the result: where it is, and its number in the tile."""
        place = self.tiles.place(words, tile)
        down, across = (f.smaller(words[f"{axis}_windows"] - place[axis], self.outputs) for axis in ("y", "x"))
        with f.loop(0, down) as i, f.loop(0, across) as j:
            yield {"image": place["image"], "y": place["y"] + i, "x": place["x"] + j}, i * self.outputs + j

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
        with f.loop(*tiles) as tile, self._inside(f, words, tile) as (pixel, _):
            emit_fetch(f, self.finish, self._rows(f, words, pixel), panel * self.block.columns, 2)

    def _directly(self, f: Writer, words: Words, memory: _Memory, tiles: tuple[Value, Value], panel: Value) -> None:
        """All pixels of a panel, summed tap by tap in the place of sums."""
        columns, lanes = self.block.columns, self.block.lanes
        pixels = self.outputs**2 * columns
        with f.loop(0, (tiles[1] - tiles[0]) * pixels, lanes) as i:
            f.store(f.constant(0.0, "f32", lanes), f.at(memory.sums, i, "f32"))
        with f.loop(0, TAPS) as i, f.loop(0, TAPS) as j:
            self._bring_tap(f, words, memory, panel, (i, j))
            with f.loop(*tiles) as tile, self._inside(f, words, tile) as (pixel, number):
                image = f.at(words.pointer("a"), pixel["image"] * words["a_image"], "i8")
                source = pixel_address(f, words, f.scratch, image, pixel, (i, j))
                self._add_tap(f, words, memory, source, f.at(memory.sums, (tile - tiles[0]) * pixels + number * columns, "f32"))
        with f.loop(*tiles) as tile:
            self._pixels(f, words, f.at(memory.sums, (tile - tiles[0]) * pixels, "f32"), tile, panel)

    def _bring_tap(self, f: Writer, words: Words, memory: _Memory, panel: Value, tap: tuple[Value, Value]) -> None:
        """Copy the part of the filter that belongs to a tap and a panel: [channel, column]."""
        columns = self.block.columns
        start = panel * columns
        with f.loop(0, words["channels"]) as c, f.loop(0, f.smaller(words["columns"] - start, columns)) as v:
            source = filter_address(f, words, tap, c, start + v)
            f.store(f.read(source, self.filter), f.at(memory.tap, c * columns + v, "f32"))

    def _add_tap(self, f: Writer, words: Words, memory: _Memory, source: Value, sums: Value) -> None:
        """Add to the sums of a pixel what the pixel at a tap gives."""
        lanes = self.block.lanes
        with f.loop(0, self.block.columns, lanes) as v:
            place = f.at(sums, v, "f32")
            total = f.variable(f.load(place, "f32", lanes))
            with f.loop(0, words["channels"]) as c:
                left = f.spread(f.read(f.at(source, c, self.image), self.image), lanes)
                right = f.load(f.at(memory.tap, c * self.block.columns + v, "f32"), "f32", lanes)
                total.set(f.fma(left, right, total.get()))
            f.store(total.get(), place)


@dataclass(frozen=True)
class _Memory:
    """The scratch memory of a thread.

    Args:
        tile: pixels of one tile, of one panel.
        tap: what of the filter belongs to one tap and one panel, where that is summed directly.
        patches, sums: by point, tile and channel, or column of one panel.
        filter_part: by point, channel and column, where the task transforms the filter.
    """

    tile: Value
    tap: Value
    patches: Value
    sums: Value
    filter_part: Value
