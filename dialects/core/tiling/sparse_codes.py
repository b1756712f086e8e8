"""Sparse matrices of tiles as the device has them: their distinct tiles, and a stream of codes that says which stands where.

Codes are words of 16 bits in tiles of 4096 bytes.  A strip is a column of blocks, `u_kt` columns of tiles.  It begins with three words:
its index in 30 bits, bit 30 set if it ends a matrix, bit 31 if it ends a tile of codes; then the number of its blocks that are written.
A block begins with a word: which it is in the lower `ublock_bits`, how many of its tiles are written in the upper ones (0: as many as
there can be).  A word a tile follows: its column in the block, its row, and in the upper `tile_bits` which of the distinct tiles it is.
Blocks of a strip go down, tiles of a block row by row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.dialects.core.tiling.arrays import SIDE, from_stream

TILE_WORDS = 2 * SIDE * SIDE
"""Words in a tile of codes."""
HEADER_WORDS = 3
"""Words of the header of a strip."""
WORD_BITS = 16
MAX_ENTRIES = 1 << 21
"""Bound on the tiles of a core's matrices that are written."""
_LAST_OF_MATRIX, _LAST_OF_TILE = 1 << 14, 1 << 15


@record
class Codes:
    """Sizes that codes are read with.

    Args:
        mblock_m: blocks down; u_rt, u_kt: rows and columns of tiles in a block.
        tile_bits, ublock_bits: of the codes of tiles and blocks.
    """

    mblock_m: int
    u_rt: int
    u_kt: int
    tile_bits: int
    ublock_bits: int

    @property
    def column_bits(self) -> int:
        """Bits of a tile's column."""
        return max(1, (self.u_kt - 1).bit_length())

    def check(self) -> None:
        """Raises E0402 if words of 16 bits cannot say all that."""
        bits = (self.tile_bits, self.ublock_bits)
        if min(self.mblock_m, self.u_rt, self.u_kt) < 1 or not all(0 <= b <= WORD_BITS for b in bits):
            raise Error("E0402", f"a sparse matrix cannot have blocks and codes like {self}")
        if self.mblock_m > 1 << self.ublock_bits or self.u_rt > 1 << max(WORD_BITS - self.tile_bits - self.column_bits, 0):
            raise Error("E0402", f"{self} does not fit words of {WORD_BITS} bits")


class SparseEntries(NamedTuple):
    """Tiles of a core's sparse matrices that are written: matrix, row and column of each, and which of the distinct tiles it is."""

    matrix: NDArray
    row: NDArray
    column: NDArray
    tile: NDArray


# ---- reading ---------------------------------------------------------------------------------------------------------------------


def decoded(words: NDArray, codes: Codes, matrices: int) -> SparseEntries:
    """Return what a stream of codes says of so many matrices.  Raises E0802 if it makes no sense."""
    codes.check()
    found: list[tuple[int, int, int, int]] = []
    at, base, matrix = 0, 0, 0
    while matrix < matrices:
        low, high, blocks = _words(words, at, HEADER_WORDS).tolist()
        strip = (high << WORD_BITS | low) & ((1 << 30) - 1)
        at += HEADER_WORDS
        above = -1
        for _ in range(blocks):
            (header,) = _words(words, at, 1).tolist()
            block, count = header & ((1 << codes.ublock_bits) - 1), header >> codes.ublock_bits
            count = count or 1 << (WORD_BITS - codes.ublock_bits)
            if not above < block < codes.mblock_m:
                raise Error("E0802", f"block {block} of {codes.mblock_m} follows block {above} in the codes of a sparse matrix")
            above = block
            found.extend(_tiles(_words(words, at + 1, count), codes, (matrix, block, strip)))
            at += 1 + count
        if len(found) > MAX_ENTRIES:
            raise Error("E0802", f"the codes of a sparse matrix write more than {MAX_ENTRIES:,} tiles")
        matrix += bool(high & _LAST_OF_MATRIX)
        if high & _LAST_OF_TILE:
            base += TILE_WORDS
            at = base
    return SparseEntries(*np.array(found, np.int64).reshape(-1, 4).T)


def _words(words: NDArray, at: int, count: int) -> NDArray:
    if at + count > len(words):
        raise Error("E0802", f"the codes of a sparse matrix end after {len(words)} words, at {at}")
    return words[at : at + count]


def _tiles(words: NDArray, codes: Codes, where: tuple[int, int, int]) -> Iterator[tuple[int, int, int, int]]:
    """Yield tiles of one block, in the order of its rows."""
    matrix, block, strip = where
    before = (-1, -1)
    for word in words.tolist():
        place = word & ((1 << (WORD_BITS - codes.tile_bits)) - 1)
        row, column = place >> codes.column_bits, place & ((1 << codes.column_bits) - 1)
        if not before < (row, column) or row >= codes.u_rt or column >= codes.u_kt:
            raise Error("E0802", f"tile {row}, {column} follows tile {before[0]}, {before[1]} in a block of {codes.u_rt} x {codes.u_kt}")
        before = (row, column)
        yield matrix, block * codes.u_rt + row, strip * codes.u_kt + column, word >> (WORD_BITS - codes.tile_bits)


# ---- writing ---------------------------------------------------------------------------------------------------------------------


class Elements(NamedTuple):
    """Elements of sparse matrices that are not zero: matrix, row and column of each in elements, and its value."""

    matrix: NDArray
    row: NDArray
    column: NDArray
    value: NDArray


class Encoded(NamedTuple):
    """Sparse matrices as operands of a product.

    tiles: [1, rows of cores * 32, distinct tiles * 32].  codes: [1, rows of cores * 32, tiles of codes * 32] of uint32.
    sizes: that the codes are read with.
    """

    tiles: NDArray
    codes: NDArray
    sizes: Codes


def encoded(elements: Elements, matrices: int, cores: int, mblock_m: int, u_rt: int, u_kt: int) -> Encoded:
    """Matrices of cores * mblock_m * u_rt rows of tiles each, a core's rows after another's.

    Tile 0 of every core is zeros; it is written in rows of tiles that hold nothing else, as the device needs every row.
    Raises:  E0503 if words of 16 bits cannot say it.
    """
    height = mblock_m * u_rt
    parts = [_distinct(*_of_core(elements, core, height), matrices, height, u_kt) for core in range(cores)]
    count = max(len(tiles) for tiles, _ in parts)
    tile_bits = count.bit_length()
    sizes = Codes(mblock_m, u_rt, u_kt, tile_bits, max(count, mblock_m).bit_length())
    try:
        sizes.check()
    except Error:
        raise Error("E0503", f"{count} distinct tiles in {mblock_m} blocks of {u_rt} x {u_kt} do not fit codes of 16 bits") from None
    tiles = np.zeros((cores, count, SIDE, SIDE), np.float32)
    streams: list[NDArray] = []
    for core, (distinct, entries) in enumerate(parts):
        tiles[core, : len(distinct)] = distinct
        streams.append(_stream(entries, sizes, matrices))
    words = np.zeros((cores, max(map(len, streams))), "<u2")
    for row, stream in zip(words, streams, strict=True):
        row[: len(stream)] = stream
    rows = [from_stream(row.view("<u4")) for row in words]
    return Encoded(tiles.transpose(0, 2, 1, 3).reshape(1, cores * SIDE, count * SIDE), np.concatenate(rows)[None].astype(np.uint32), sizes)


def _of_core(elements: Elements, core: int, height: int) -> tuple[NDArray, NDArray, NDArray]:
    """Return places (matrix, row and column in tiles) of a core's elements, their places within tiles, and their values."""
    own = elements.row // (height * SIDE) == core
    matrix, row, column = (part[own] for part in elements[:3])
    row = row - core * height * SIDE
    places = np.stack([matrix, row // SIDE, column // SIDE], axis=1)
    return places, row % SIDE * SIDE + column % SIDE, elements.value[own]


def _distinct(places: NDArray, inner: NDArray, values: NDArray, matrices: int, height: int, u_kt: int) -> tuple[NDArray, SparseEntries]:
    """Return a core's distinct tiles, the zero tile first, and which stand where."""
    wide = int(places[:, 2].max(initial=0)) + 1
    keys, which = np.unique((places[:, 0] * height + places[:, 1]) * wide + places[:, 2], return_inverse=True)
    where = np.column_stack([keys // wide // height, keys // wide % height, keys % wide])
    held = np.zeros((len(where), SIDE * SIDE), np.float32)
    np.add.at(held, (which.ravel(), inner), values)
    known = {np.zeros(SIDE * SIDE, np.float32).tobytes(): 0}
    tiles = np.array([known.setdefault(tile.tobytes(), len(known)) for tile in held], np.int64)
    distinct = np.stack([np.frombuffer(raw, np.float32).reshape(SIDE, SIDE) for raw in known])
    empty = _empty_rows(where, matrices, height)
    entries = np.concatenate([np.column_stack([where, tiles]), empty]) if len(empty) else np.column_stack([where, tiles])
    return distinct, SparseEntries(*entries.astype(np.int64).T)


def _empty_rows(where: NDArray, matrices: int, height: int) -> NDArray:
    """Return a zero tile for each row of tiles without any, below a column that its matrix reads anyway."""
    filled = np.zeros((matrices, height), np.bool_)
    filled[where[:, 0], where[:, 1]] = True
    column = np.zeros(matrices, np.int64)
    column[where[::-1, 0]] = where[::-1, 2]
    read = np.flatnonzero(filled.any(axis=1))
    last = np.maximum.accumulate(np.where(np.isin(np.arange(matrices), read), np.arange(matrices), -1)) if matrices else column
    column = np.where(last >= 0, column[np.maximum(last, 0)], 0)
    rows = np.argwhere(~filled)
    return np.column_stack([rows, column[rows[:, 0]], np.zeros(len(rows), np.int64)])


def _stream(entries: SparseEntries, sizes: Codes, matrices: int) -> NDArray:
    """Words of a core's codes."""
    strip, block = entries.column // sizes.u_kt, entries.row // sizes.u_rt
    order = np.lexsort((entries.column, entries.row, block, strip, entries.matrix))
    matrix, strip, block, row, column, tile = (x[order] for x in (entries.matrix, strip, block, entries.row, entries.column, entries.tile))
    place = (row % sizes.u_rt) << sizes.column_bits | column % sizes.u_kt
    codes = (tile << (WORD_BITS - sizes.tile_bits) | place).tolist()
    strips = _runs(np.stack([matrix, strip]))
    writer = _Writer()
    for at, (start, stop) in enumerate(strips):
        body: list[int] = []
        blocks = _runs(block[None, start:stop])
        for first, last in blocks:
            count = last - first
            if count > 1 << (WORD_BITS - sizes.ublock_bits):
                raise Error("E0503", f"{count} tiles of a block do not fit codes of {WORD_BITS - sizes.ublock_bits} bits")
            body.append(count << sizes.ublock_bits & 0xFFFF | int(block[start + first]))
            body.extend(codes[start + first : start + last])
        last_of_matrix = at + 1 == len(strips) or matrix[stop] != matrix[start]
        writer.add(int(strip[start]), len(blocks), body, last_of_matrix=bool(last_of_matrix))
    if not strips and matrices:
        raise Error("E0503", "a sparse matrix without rows has no codes")
    return writer.finished()


def _runs(keys: NDArray) -> list[tuple[int, int]]:
    """First and last + 1 of each run of equal columns."""
    if keys.shape[1] == 0:
        return []
    starts = [0, *(np.flatnonzero((keys[:, 1:] != keys[:, :-1]).any(axis=0)) + 1).tolist()]
    return list(zip(starts, [*starts[1:], keys.shape[1]], strict=True))


class _Writer:
    """Words of strips, none of them across tiles of codes."""

    def __init__(self) -> None:
        self.words: list[int] = []
        self.last = 0

    def add(self, strip: int, blocks: int, body: list[int], *, last_of_matrix: bool) -> None:
        """Append a strip.  Raises E0503 for one that takes more than a tile of codes."""
        size = HEADER_WORDS + len(body)
        if size > TILE_WORDS:
            raise Error("E0503", f"a strip of {len(body)} codes does not fit a tile of them")
        if len(self.words) % TILE_WORDS + size > TILE_WORDS or (self.words and len(self.words) % TILE_WORDS == 0):
            self._end_tile()
        self.last = len(self.words)
        self.words += [strip & 0xFFFF, strip >> WORD_BITS | last_of_matrix * _LAST_OF_MATRIX, blocks, *body]

    def finished(self) -> NDArray:
        """Return all words, in whole tiles."""
        self._end_tile()
        return np.array(self.words, "<u2")

    def _end_tile(self) -> None:
        if self.words:
            self.words[self.last + 1] |= _LAST_OF_TILE
        self.words += [0] * (-len(self.words) % TILE_WORDS)
