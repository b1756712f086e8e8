"""Matrix products and convolutions of integers in tiles of AMX, exact in 32 bits: rows of a times packed panels of bytes, a region, c.

As `amx_gemm`, a group of blocks of 32 rows stays near while the panels come by.  The rows of a block are written into tiles of bytes
first.  Where the numbers of a block span no more than 255, a byte is what a number is above the smallest of them, `low`, and the sums
begin with `low` times the sums of the columns of b.  Else the high bytes of 16 bits are multiplied, their sums taken 256 times, and the
low bytes' products added.  Sums wrap modulo 2^32, as those of the reference do.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ttc.runtime.engines.native.graph.region import Region
from ttc.runtime.engines.native.graph.storage import STORAGE_BYTES, Storage
from ttc.runtime.engines.native.graph.tensors import ALIGNMENT
from ttc.runtime.engines.native.kernels.amx_integer_pack import BYTE_DEPTH, COLUMN_SUMS, byte_chunks
from ttc.runtime.engines.native.kernels.amx_pack import PANEL, TILE_BYTES
from ttc.runtime.engines.native.kernels.code_tables import CodeTable, split_at_code
from ttc.runtime.engines.native.kernels.gemm_finish import Finish, Row, emit_rows
from ttc.runtime.engines.native.kernels.gemm_rows import POINTER_BYTES, AddressTable, GemmRows
from ttc.runtime.engines.native.kernels.tile_product import BLOCK, GROUP, USUAL_GROUP, TileProduct
from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.tiles import Tiles
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

SPAN = 255
"""The most that numbers of one byte differ by."""
_SUMS_BYTES = BLOCK * PANEL * 4
_FIRST_BYTES = PANEL * 4
_RECORD_BYTES = 16
"""The bytes of the record of a block of a group: the smallest of its numbers, and whether they need two bytes; both i64."""
_LANES = 32
_SUM_TILES, _LEFT_TILES, _RIGHT_TILES = ((0, 1), (2, 3)), (4, 5), (6, 7)
_ROW_BYTES = 64
_BLOCK_BYTES = BLOCK * _ROW_BYTES
"""The bytes of a block of rows for 64 channels: two tiles."""


@dataclass(frozen=True)
class AmxIntegerGemm(TileProduct):
    """c = region(a b, others...), for every element of a batch of matrices.

    Args:
        source: element type of a: i8, u8 or i16.
        narrow: whether all numbers of a, zeros outside images included, are in [low, low + 255], `low` being a word; else each block of
            rows is searched for its smallest number and for what they span.
        rows: how rows are found.
        region, spread, batch: as `gemm.Gemm`; input 0 of the region is an i32.

    Tasks: as `TileProduct` has them.  Words: `names`; strides are in bytes; `depth`: channels of a tap; b is packed by
    `amx_integer_pack.PackByteTiles`.  Scratch: `scratch_bytes`.
    """

    source: Storage
    narrow: bool
    rows: GemmRows
    region: Region
    spread: tuple[bool, ...] = ()
    batch: int = 0

    SIZES: ClassVar[tuple[str, ...]] = (*TileProduct.SIZES, "low")

    def scratch_bytes(self, depth: int, taps: int, height: int) -> int:
        """Return the bytes of scratch memory that one thread needs, given the words of these names."""
        width = byte_chunks(depth) * BYTE_DEPTH
        pointers = GROUP * POINTER_BYTES * (1 + len(self.spread) + taps)
        gathered = height * taps * width * (1 if self.narrow else 2)
        return _SUMS_BYTES + _FIRST_BYTES + ALIGNMENT + width * 2 + pointers + gathered

    def emit_job(self, f: Writer, words: Words) -> None:
        from ttc.runtime.engines.native.ir.tiles import Tiles

        tiles = Tiles(f)
        tiles.configure()
        work = _Work(f, words, self, tiles)
        if self.rows.has_borders:
            with f.loop(0, work.width * 2) as i:
                f.store(f.constant(0, "u8"), f.at(work.table.zeros, i, "u8"))
        with f.loop(f.begin, f.end) as task:
            work.emit_task(task)
        tiles.release()


class _Work:
    """The code of one kernel: what all its tasks know."""

    def __init__(self, f: Writer, words: Words, kernel: AmxIntegerGemm, tiles: Tiles) -> None:
        self.f, self.words, self.kernel, self.tiles = f, words, kernel, tiles
        self.depth, self.taps = words["depth"], words["taps"]
        self.chunks = (self.depth + (BYTE_DEPTH - 1)) // BYTE_DEPTH
        self.width = self.chunks * BYTE_DEPTH
        self.panel_bytes = self.taps * self.chunks * (2 * TILE_BYTES) + COLUMN_SUMS
        self.ahead = f.variable(f.scratch)
        self.sums = f.scratch
        self.first = f.at(self.sums, _SUMS_BYTES, "i8")
        self.records = f.at(self.first, _FIRST_BYTES, "i8")
        zeros = f.at(self.records, ALIGNMENT, "i8")
        pointers = f.at(zeros, self.width * 2, "i8")
        places = {name: f.at(pointers, i * GROUP, "ptr") for i, name in enumerate(("c", *kernel.others))}
        taps = f.at(pointers, len(places) * GROUP, "ptr")
        self.table = AddressTable(places, taps, zeros, GROUP)
        self.gathered = f.at(taps, self.taps * GROUP, "ptr")
        self.high = words["height"] * self.taps * self.width
        region, lanes = kernel.region, min(f.lanes, PANEL)
        parts = split_at_code(region)
        table = None if parts is None else CodeTable.emit(f, parts.rest)
        self.finish = Finish(region if parts is None else parts.first, kernel.spread, PANEL, lanes, table)

    def emit_task(self, task: Value) -> None:
        f, words = self.f, self.words
        work, height = self.kernel.task(f, words, task), words["height"]
        bases = work.bases
        with f.loop(*work.groups) as group:
            first = group * height
            count = f.smaller(words["rows"] - first, height)
            self.kernel.rows.emit(f, words, bases, (first, count), self.table)
            with f.loop(0, count, BLOCK) as start:
                self._prepare(bases["a"], first, start, f.smaller(count - start, BLOCK))
            with f.loop(*work.panels) as panel:
                self.ahead.set(f.at(bases["b"], (panel + 1) * self.panel_bytes, "i8"))
                with f.loop(0, count, BLOCK) as start:
                    self._block(bases["b"], (start, f.smaller(count - start, BLOCK)), panel)

    # ---- blocks of rows ------------------------------------------------------------------------------------------------------------------

    def _tiles_of(self, start: Value) -> Value:
        """Address of the tiles of the block of rows that begins at row `start` of the group."""
        return self.f.at(self.gathered, start * self.taps * self.width, "i8")

    def _record(self, start: Value) -> Value:
        return self.f.at(self.records, start * _RECORD_BYTES // BLOCK, "i8")

    def _prepare(self, base: Value, first: Value, start: Value, count: Value) -> None:
        """Make the tiles of a block of rows, and note what their bytes stand for."""
        f, record = self.f, self._record(start)
        if self.kernel.narrow:
            low = self.words["low"]
            f.store(low, f.at(record, 0, "i64"))
            self._gather(base, first, (start, count), low, wide=False)
            return
        smallest, largest = self._span(base, first, start, count)
        wide = largest - smallest > SPAN
        low = f.select(wide, f.constant(0, "i64"), smallest)
        f.store(low, f.at(record, 0, "i64"))
        f.store(f.converted(wide, "i64"), f.at(record, 1, "i64"))
        with f.choice(wide) as (two, one):
            with two:
                self._gather(base, first, (start, count), low, wide=True)
            with one:
                self._gather(base, first, (start, count), low, wide=False)

    def _span(self, base: Value, first: Value, start: Value, count: Value) -> tuple[Value, Value]:
        """The smallest and the largest number of a block of rows and 0."""
        f = self.f
        zero = f.constant(0, "i16", _LANES)
        smallest, largest = f.variable(zero), f.variable(zero)
        with f.loop(0, self.taps) as tap, f.loop(0, self.depth, _LANES) as k:
            mask = f.mask(self.depth - k, _LANES)
            with f.loop(0, count) as r:
                x = self._read(f.at(self._left(base, first, tap, start + r), k, self.kernel.source), mask)
                smallest.set(f.smaller(smallest.get(), x))
                largest.set(f.larger(largest.get(), x))
        found = f.folded("smaller", smallest.get()), f.folded("larger", largest.get())
        return f.converted(found[0], "i64"), f.converted(found[1], "i64")

    def _left(self, base: Value, first: Value, tap: Value, r: Value) -> Value:
        """Address of row r of the group at a tap."""
        return self.kernel.rows.left_row(self.f, self.words, base, first, self.table, tap, r)

    def _read(self, place: Value, mask: Value) -> Value:
        return self.f.converted(self.f.load(place, self.kernel.source, _LANES, mask), "i16")

    def _gather(self, base: Value, first: Value, span: tuple[Value, Value], low: Value, *, wide: bool) -> None:
        """Write the rows of a block as bytes: for each tap and each 64 channels, 32 rows.  wide: low bytes, and elsewhere high ones."""
        f, (start, count), source = self.f, span, self.kernel.source
        tiles = self._tiles_of(start)
        in_bytes = STORAGE_BYTES[source] == 1 and not wide
        lanes = BYTE_DEPTH if in_bytes else _LANES
        less = f.spread(f.converted(low, "u8" if in_bytes else "i16"), lanes)
        with f.loop(0, self.taps) as tap, f.loop(0, self.chunks) as chunk:
            target = f.at(tiles, (tap * self.chunks + chunk) * _BLOCK_BYTES, "i8")
            k = chunk * BYTE_DEPTH
            parts = range(0, BYTE_DEPTH, lanes)
            masks = [f.mask(self.depth - k - part, lanes) for part in parts]
            with f.loop(0, count) as r:
                row = f.at(self._left(base, first, tap, start + r), k, source)
                for part, mask in zip(parts, masks, strict=True):
                    with f.when(self.depth - k > part) if part else nullcontext():  # what is beyond meets zeros of the panels
                        number = f.at(row, part, source)
                        x = f.load(number, "u8", lanes, mask) if in_bytes else self._read(number, mask)
                        place = f.at(target, r * _ROW_BYTES + part, "i8")
                        if wide:
                            f.store(f.converted(x >> 8, "i8"), f.at(place, self.high, "i8"))
                        f.store(f.converted(x if wide else x - less, "i8"), place)

    # ---- blocks of sums ------------------------------------------------------------------------------------------------------------------

    def _block(self, base: Value, span: tuple[Value, Value], panel: Value) -> None:
        """One block of c: sums, then the region."""
        f, (start, count) = self.f, span
        right = f.at(base, panel * self.panel_bytes, "i8")
        self._begin(right, start)
        with f.choice(count > BLOCK // 2) as (both, upper):
            for branch, halves in ((both, 2), (upper, 1)):
                with branch:
                    self._sum(start, right, halves)
        emit_rows(f, self.finish, self.sums, lambda r: Row(self._places(start + r)), count, (panel * PANEL, self.words["columns"]))

    def _places(self, r: Value) -> dict[str, Value]:
        """Addresses of row r of the group in the result and in the region's further tensors."""
        f = self.f
        return {name: f.load(f.at(address, r, "ptr"), "ptr") for name, address in self.table.tensors.items()}

    def _begin(self, right: Value, start: Value) -> None:
        """Write what sums begin with, a row of them."""
        f = self.f
        low = f.spread(f.converted(f.load(self._record(start), "i64"), "i32"), PANEL // 2)
        for half in (0, PANEL // 2):
            columns = f.load(f.at(right, half, "i32"), "i32", PANEL // 2)
            f.store(columns * low, f.at(self.first, half, "i32"))

    def _sum(self, start: Value, right: Value, halves: int) -> None:
        """The sums of so many halves of a block, in tiles, and from there to memory."""
        f = self.f
        tiles, panel = self._tiles_of(start), f.at(right, COLUMN_SUMS, "i8")
        if self.kernel.narrow:
            self._load(self.first, 0, halves)
        else:
            wide = f.load(f.at(self._record(start), 1, "i64"), "i64")
            with f.choice(wide.equals(0)) as (one, two):
                with one:
                    self._load(self.first, 0, halves)
                with two:
                    self._high_sums(f.at(tiles, self.high, "i8"), panel, halves)
        self._add(tiles, panel, halves, signed=False)
        self._store(halves)

    def _high_sums(self, tiles: Value, panel: Value, halves: int) -> None:
        """256 times the sums of high bytes."""
        f = self.f
        for row in _SUM_TILES[:halves]:
            for tile in row:
                self.tiles.zero(tile)
        self._add(tiles, panel, halves, signed=True)
        self._store(halves)
        with f.loop(0, halves * 16 * PANEL, PANEL // 2) as i:
            place = f.at(self.sums, i, "i32")
            f.store(f.load(place, "i32", PANEL // 2) << 8, place)
        self._load(self.sums, PANEL * 4, halves)

    def _load(self, base: Value, stride: int, halves: int) -> None:
        """Load the tiles of sums, from rows at a stride in bytes."""
        f = self.f
        for i, row in enumerate(_SUM_TILES[:halves]):
            for j, tile in enumerate(row):
                self.tiles.load(tile, f.at(base, i * 16 * stride + j * 64, "i8"), f.constant(stride, "i64"))

    def _store(self, halves: int) -> None:
        f = self.f
        for i, row in enumerate(_SUM_TILES[:halves]):
            for j, tile in enumerate(row):
                self.tiles.store(tile, f.at(self.sums, i * 16 * PANEL * 4 + j * 64, "i8"), f.constant(PANEL * 4, "i64"))

    def _add(self, left: Value, right: Value, halves: int, *, signed: bool) -> None:
        """Add the products of all taps and channels; meanwhile a quarter as much of the next panel is brought near."""
        f, tiles, stride = self.f, self.tiles, self.f.constant(_ROW_BYTES, "i64")
        near = 2 * TILE_BYTES * BLOCK // USUAL_GROUP
        with f.loop(0, self.taps * self.chunks) as step:
            a, b = f.at(left, step * _BLOCK_BYTES, "i8"), f.at(right, step * (2 * TILE_BYTES), "i8")
            for half in range(2):
                if half < halves:
                    tiles.load(_LEFT_TILES[half], f.at(a, half * TILE_BYTES, "i8"), stride)
                tiles.load(_RIGHT_TILES[half], f.at(b, half * TILE_BYTES, "i8"), stride)
            for i in range(halves):
                for total, j in zip(_SUM_TILES[i], _RIGHT_TILES, strict=True):
                    tiles.dot_bytes(total, _LEFT_TILES[i], j, signed=signed)
            for line in range(0, near, ALIGNMENT):
                f.prefetch(f.at(self.ahead.get(), line, "i8"), 2)
            self.ahead.set(f.at(self.ahead.get(), near, "i8"))
