"""Gradients of filters of 3 x 3 taps at stride 1, by Winograd's way: 2.25 (m = 2) or 4 (m = 4) times fewer multiplications.

The gradient is itself a convolution, of images with cotangents in the filter's place: 3 x 3 results from as many taps as the cotangents
have pixels.  These are cut into tiles of m x m, each of which meets a patch of (m + 2) x (m + 2) pixels of the image.  Both are transformed
to (m + 2)^2 points, at each of which the gradient is a product of matrices: channels by tiles, and tiles by channels of the cotangents.
Sums over all tiles are brought back into 3 x 3 taps once.

A task has some channels of both, and a part of the tiles.  It transforms a chunk of tiles, adds their products to sums, and goes on to the
next: patches, cotangents and sums stay in the second-level cache, and none of them is ever in main memory.  With several parts of the
channels each transforms its own once more: m = 2 takes 16 vectors to memory for 16 x 64 products and more.

An infinity, a NaN or a number near the largest would spread to all taps of its tile: a task that meets one sums directly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.graph.tensors import ALIGNMENT
from ttc.runtime.engines.native.kernels.gemm_block import Operands, emit_block, emit_kept
from ttc.runtime.engines.native.kernels.gemm_finish import emit_row, emit_vector, is_short
from ttc.runtime.engines.native.kernels.shares import shares_of
from ttc.runtime.engines.native.kernels.winograd import LIMIT_BITS, WinogradProducts
from ttc.runtime.engines.native.kernels.winograd_matrices import TAPS, combined, matrices
from ttc.runtime.engines.native.kernels.winograd_patches import IMAGE, CotangentTiles, pixel_address
from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import LocalVariable, Operand, Value
    from ttc.runtime.engines.native.ir.writer import Writer

COTANGENT = "d_"
"""What names of words that tell of cotangents begin with; they go on as those of images do."""
RESULT_AXES = ("image", "y", "x")
"""The names of the result's dimensions, and of its region's further tensors, among words: rows, and taps down and across."""
_GAP = ALIGNMENT // 4
"""Elements between points: a cache line, so that all points of a vector do not meet in one set of a cache."""
_SIZES = ("rows", "columns", "tiles", "groups", "row_parts", "column_parts", "panels", "most_tiles", "most_rows", "most_panels")


@dataclass(frozen=True)
class WinogradGradient(WinogradProducts):
    """The kernel of gradients of filters: c[group, row, 3, 3, column] = region(sums over images, pixels and the group's tiles, others...).

    Args:
        image, cotangent: element types of images and cotangents.

    Tasks: (group of tiles, part of the rows, part of the columns), the latter fastest.  Words: `names`; strides in bytes.  a: images
    x[n, h, w, row], d_a: cotangents [n, y, x, column], both dense in channels, of which there is a multiple of the vector; `channels` and
    `d_channels` are both the larger number of these.  most_*: of a task; tiles: of a chunk of them.  Scratch: `scratch_bytes`.
    """

    cotangent: Storage

    @property
    def cotangents(self) -> CotangentTiles:
        """How cotangents are cut into tiles."""
        return CotangentTiles(self.outputs, self.block.lanes, self.cotangent)

    @property
    def names(self) -> tuple[str, ...]:
        tensors = ("c", *self.finish.others)
        strides = (f"{tensor}_{axis}" for tensor in tensors for axis in RESULT_AXES)
        return (*_SIZES, *IMAGE, *(COTANGENT + name for name in IMAGE), *tensors, *strides, "c_group")

    def scratch_bytes(self, channels: int, most_tiles: int, most_rows: int, most_panels: int) -> int:
        """Return the bytes of scratch memory that one thread needs: zeros, addresses of pixels, taps of a row, patches, cotangents, sums.

        channels: the larger number of the two.
        """
        columns, points = self.block.columns, self.tiles.points
        width = most_tiles * (most_rows + most_panels * columns) + most_rows * most_panels * columns + (1 + 2 * most_panels) * _GAP
        return self.tiles.table_bytes(channels) + 4 * (TAPS**2 * columns + points * width)

    def emit_job(self, f: Writer, words: Words) -> None:
        self.tiles.emit_zeros(f, words)
        with f.loop(f.begin, f.end) as task:
            of_columns, rest = task % words["column_parts"], task // words["column_parts"]
            of_rows, group = rest % words["row_parts"], rest // words["row_parts"]
            lanes = self.block.lanes
            rows = shares_of(words["rows"] // lanes, words["row_parts"]).span(of_rows)
            part = _Part(
                shares_of(words["tiles"], words["groups"]).span(group),
                (rows[0] * lanes, rows[1] * lanes),
                shares_of(words["panels"], words["column_parts"]).span(of_columns),
                f.at(words.pointer("c"), group * words["c_group"], "i8"),
            )
            memory = self._memory(f, words)
            peak = self._sums(f, words, memory, part)
            with f.choice(peak < LIMIT_BITS) as (tame, wild):
                with tame:
                    self._taps(f, words, memory, part)
                with wild:
                    self._directly(f, words, memory, part)

    def _memory(self, f: Writer, words: Words) -> _Memory:
        """The scratch memory of a task."""
        columns, points = self.block.columns, self.tiles.points
        tiles, rows = words["most_tiles"], words["most_rows"]
        patch_step, cotangent_step, sum_step = tiles * rows + _GAP, tiles * columns + _GAP, rows * columns + _GAP
        taps = f.at(f.scratch, words["channels"] * 4 + self.tiles.table_bytes(0), "i8")
        patches = f.at(taps, TAPS**2 * columns, "f32")
        cotangents = f.at(patches, patch_step * points, "f32")
        sums = f.at(cotangents, cotangent_step * points * words["most_panels"], "f32")
        return _Memory(taps, patches, cotangents, sums, patch_step, cotangent_step, sum_step)

    def _sums(self, f: Writer, words: Words, memory: _Memory, part: _Part) -> Value:
        """Sums at all points over all tiles; gives the bits of the largest magnitude that was met."""
        points, lanes = self.tiles.points, self.block.lanes
        panels = part.panels[1] - part.panels[0]
        with f.when(part.panels[1] * self.block.columns > words["columns"]):  # what is behind the last column is written nowhere else
            self._clear(f, memory.cotangents, memory.cotangent_step * points * panels)
        with f.when(part.rows[1] - part.rows[0] < words["most_rows"]):
            self._clear(f, memory.patches, memory.patch_step * points)
        largest = f.variable(f.constant(0, "u32", lanes))
        first, last = part.tiles
        with f.loop(first, last, words["most_tiles"]) as start:
            count = f.smaller(last - start, words["most_tiles"])
            self._transform(f, words, memory, part, (start, count), largest)
            with f.loop(0, panels) as panel, f.loop(0, points) as point:
                self._products(f, words, memory, (panel, point, count), start.equals(first))
        return f.folded("larger", largest.get())

    def _clear(self, f: Writer, place: Value, count: Value) -> None:
        """Write so many zeros, a multiple of the vector."""
        with f.loop(0, count, self.block.lanes) as i:
            f.store(f.constant(0.0, "f32", self.block.lanes), f.at(place, i, "f32"))

    def _transform(self, f: Writer, words: Words, memory: _Memory, part: _Part, chunk: tuple[Value, Value], largest: LocalVariable) -> None:
        """Write patches and cotangents of a chunk: its first tile, and how many there are."""
        columns, (start, count) = self.block.columns, chunk
        of_cotangents = words.part(COTANGENT)
        with f.loop(0, count) as i:
            target = f.at(memory.patches, i * words["most_rows"], "f32")
            self.tiles.emit(f, words, start + i, target, memory.patch_step, largest, part.rows)
        with f.loop(*part.panels) as panel, f.loop(0, count) as i:
            place = (panel - part.panels[0]) * self.tiles.points * memory.cotangent_step + i * columns
            span = (panel * columns, f.smaller((panel + 1) * columns, words["columns"]))
            target = f.at(memory.cotangents, place, "f32")
            self.cotangents.emit(f, of_cotangents, start + i, target, memory.cotangent_step, largest, span)

    def _products(self, f: Writer, words: Words, memory: _Memory, place: tuple[Value, Value, Value], begins: Value) -> None:
        """Add the products of a chunk to sums[row, column], or `begins` these.  place: panel of the part, point, tiles of the chunk.

        All tasks have as many rows here, so that blocks have one of two heights.
        """
        block, (panel, point, count) = self.block, place
        rows = words["most_rows"]
        blocks = (rows + (block.rows - 1)) // block.rows
        spans = shares_of(rows, blocks)
        at_point = panel * self.tiles.points + point
        right = f.at(memory.cotangents, at_point * memory.cotangent_step, "f32")
        with f.loop(0, blocks) as number:
            first, last = spans.span(number)
            left = f.at(memory.patches, point * memory.patch_step + first, "f32")
            target = f.at(memory.sums, at_point * memory.sum_step + first * block.columns, "f32")
            for height in block.counts:
                with f.when((last - first).equals(height)):
                    addresses = [f.at(left, r, "f32") for r in range(height)]
                    one = f.constant(1, "i64")
                    operands = Operands(lambda _, found=addresses: found, right, one, count, step=rows)
                    emit_kept(f, block, emit_block(f, block, height, operands, "f32"), target, begins)

    def _taps(self, f: Writer, words: Words, memory: _Memory, part: _Part) -> None:
        """Bring sums back into taps, through the region, and store them: whole panels from registers, where the region is short."""
        columns, step = self.block.columns, memory.sum_step
        with f.loop(0, part.panels[1] - part.panels[0]) as panel, f.loop(0, part.rows[1] - part.rows[0]) as row:
            sums, start = f.at(memory.sums, panel * self.tiles.points * step + row * columns, "f32"), (part.panels[0] + panel) * columns
            with f.choice((start + columns <= words["columns"]) & f.constant(int(is_short(self.region)), "i1")) as (whole, other):
                with whole:
                    places = {(i, j): self._place(f, words, part, row, (i, j)) for i in range(TAPS) for j in range(TAPS)}

                    def act(v: Value, tap: tuple[int, int], value: Value) -> None:
                        emit_vector(f, self.finish, value, places[tap], start + v, self.block.lanes)

                    self._each_tap(f, sums, step, act)
                with other:

                    def keep(v: Value, tap: tuple[int, int], value: Value) -> None:
                        f.store(value, f.at(memory.taps, v + (tap[0] * TAPS + tap[1]) * columns, "f32"))

                    self._each_tap(f, sums, step, keep)
                    with f.loop(0, TAPS) as i, f.loop(0, TAPS) as j:
                        taps = f.at(memory.taps, (i * TAPS + j) * columns, "f32")
                        emit_row(f, self.finish, taps, self._place(f, words, part, row, (i, j)), (start, words["columns"]))

    def _each_tap(self, f: Writer, sums: Value, step: Value, act: Callable[[Value, tuple[int, int], Value], None]) -> None:
        """Hand over vectors of the taps of a row, given the address of its sums at the first point: (column, tap, vector)."""
        block, matrix, size = self.block, matrices(TAPS, self.outputs).at, self.tiles.patch
        with f.loop(0, block.columns, block.lanes) as v:
            start = f.at(sums, v, "f32")
            columns = [
                combined(f, matrix, [f.load(f.at(start, step * (i * size + j), "f32"), "f32", block.lanes) for i in range(size)])
                for j in range(size)
            ]
            for i in range(TAPS):
                for j, value in enumerate(combined(f, matrix, [column[i] for column in columns])):
                    act(v, (i, j), value)

    def _place(self, f: Writer, words: Words, part: _Part, row: Value, tap: tuple[Operand, Operand]) -> dict[str, Value]:
        """Return addresses of a tap of the result and of the region's further tensors.  row: of the part."""
        rows = {"c": part.result, **{name: words.pointer(name) for name in self.finish.others}}
        for name, base in rows.items():
            offset = (part.rows[0] + row) * words[f"{name}_image"]
            for axis, index in zip(("y", "x"), tap, strict=True):
                offset = offset + words[f"{name}_{axis}"] * index
            rows[name] = f.at(base, offset, "i8")
        return rows

    def _directly(self, f: Writer, words: Words, memory: _Memory, part: _Part) -> None:
        """All taps, summed pixel by pixel in the place of sums: [panel, tap, row, column]."""
        columns = self.block.columns
        rows, panels = part.rows[1] - part.rows[0], part.panels[1] - part.panels[0]
        self._clear(f, memory.sums, panels * TAPS**2 * rows * columns)
        with f.loop(*part.tiles) as tile:
            place = self.tiles.place(words, tile)
            down, across = (f.smaller(words[f"{COTANGENT}{axis}_size"] - place[axis], self.outputs) for axis in ("y", "x"))
            with f.loop(0, down) as y, f.loop(0, across) as x, f.loop(0, TAPS) as i, f.loop(0, TAPS) as j:
                pixel = {"image": place["image"], "y": place["y"] + y, "x": place["x"] + x}
                self._add_pixel(f, words, memory, part, pixel, (i, j))
        with f.loop(0, panels) as panel, f.loop(0, TAPS) as i, f.loop(0, TAPS) as j, f.loop(0, rows) as row:
            number = ((panel * TAPS + i) * TAPS + j) * rows + row
            span = (part.panels[0] + panel) * columns, words["columns"]
            emit_row(f, self.finish, f.at(memory.sums, number * columns, "f32"), self._place(f, words, part, row, (i, j)), span)

    def _add_pixel(self, f: Writer, words: Words, memory: _Memory, part: _Part, pixel: dict[str, Value], tap: tuple[Value, Value]) -> None:
        """Add what a pixel of the cotangents gives to a tap."""
        columns, lanes = self.block.columns, self.block.lanes
        rows = part.rows[1] - part.rows[0]
        image = f.at(words.pointer("a"), pixel["image"] * words["a_image"], "i8")
        left = pixel_address(f, words, f.scratch, image, pixel, tap)
        right = f.at(words.pointer(f"{COTANGENT}a"), _cotangent_offset(words, pixel), "i8")
        with f.loop(*part.panels) as panel, f.loop(0, rows) as row:
            number = (((panel - part.panels[0]) * TAPS + tap[0]) * TAPS + tap[1]) * rows + row
            spread = f.spread(f.read(f.at(left, part.rows[0] + row, self.image), self.image), lanes)
            start = panel * columns
            with f.loop(start, f.smaller(start + columns, words["columns"]), lanes) as v:
                place = f.at(memory.sums, number * columns + (v - start), "f32")
                other = f.read(f.at(right, v, self.cotangent), self.cotangent, lanes)
                f.store(f.fma(spread, other, f.load(place, "f32", lanes)), place)


def _cotangent_offset(words: Words, pixel: dict[str, Value]) -> Value:
    """Return the bytes from the first cotangent to those of a pixel."""
    down, across = pixel["y"] * words[f"{COTANGENT}a_y"], pixel["x"] * words[f"{COTANGENT}a_x"]
    return pixel["image"] * words[f"{COTANGENT}a_image"] + down + across


@dataclass(frozen=True)
class _Part:
    """What a task computes.

    Args:
        tiles, rows, panels: the first, and the one behind the last.
        result: address of its group's result.
    """

    tiles: tuple[Value, Value]
    rows: tuple[Value, Value]
    panels: tuple[Value, Value]
    result: Value


@dataclass(frozen=True)
class _Memory:
    """The scratch memory of a thread.

    Args:
        taps: of one row of one panel.
        patches: by point, tile and row.
        cotangents: by panel, point, tile and column.
        sums: by panel, point, row and column.
        patch_step, cotangent_step, sum_step: elements from one point to the next.
    """

    taps: Value
    patches: Value
    cotangents: Value
    sums: Value
    patch_step: Value
    cotangent_step: Value
    sum_step: Value
