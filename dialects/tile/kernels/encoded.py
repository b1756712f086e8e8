"""Numpy semantics of products with matrices of tiles: sparse ones that a stream of codes describes, and one tile a column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.tile.kernels.manipulation import SIDE, split, streams

TILE_WORDS = 2 * SIDE * SIDE
"""Words of 16 bits in a tile of codes."""
HEADER_WORDS = 3
"""Of a strip: index and flags in two, then how many of its blocks are not zero."""
_CHUNK = 1 << 9
"""Products of tiles computed together."""


@dataclass(frozen=True)
class Codes:
    """How the codes of a sparse matrix are laid out in words of 16 bits.

    A strip is a column of blocks: `u_kt` columns of tiles.  Its index takes 30 bits; bit 30 ends a matrix, bit 31 a tile of codes.  A
    block says which it is (`ublock_bits`) and how many tiles follow (0: as many as there can be); a tile, which of the distinct tiles it
    is (`tile_bits`, the upper ones) and its row and column in the block.

    Args:
        mblock_m: blocks down; u_rt, u_kt: rows and columns of tiles in a block.
        tile_bits, ublock_bits: see above.
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
        if min(self.mblock_m, self.u_rt, self.u_kt) < 1 or not all(0 <= b <= 16 for b in bits):
            raise Error("E0402", f"a sparse matrix cannot have blocks and codes like {self}")
        if self.mblock_m > 1 << self.ublock_bits or self.u_rt > 1 << max(16 - self.tile_bits - self.column_bits, 0):
            raise Error("E0402", f"{self} does not fit words of 16 bits")


@dataclass(frozen=True)
class Entries:
    """Tiles of a core's sparse matrices that are written out: matrix, row and column of each, and which of the distinct tiles it is."""

    matrix: NDArray
    row: NDArray
    column: NDArray
    tile: NDArray


def decoded(words: NDArray, codes: Codes, matrices: int) -> Entries:
    """What a stream of codes says.  Raises E0802 if it makes no sense."""
    codes.check()
    found: list[tuple[int, int, int, int]] = []
    at, base, matrix = 0, 0, 0
    while matrix < matrices:
        low, high, blocks = (int(w) for w in _words(words, at, HEADER_WORDS))
        strip, last_of_matrix, last_of_tile = (high << 16 | low) & ((1 << 30) - 1), high >> 14 & 1, high >> 15
        at += HEADER_WORDS
        above = -1
        for _ in range(blocks):
            (header,) = (int(w) for w in _words(words, at, 1))
            block, count = header & ((1 << codes.ublock_bits) - 1), header >> codes.ublock_bits
            count = count or 1 << (16 - codes.ublock_bits)
            if not above < block < codes.mblock_m:
                raise Error("E0802", f"block {block} of {codes.mblock_m} follows block {above} in the codes of a sparse matrix")
            above = block
            found.extend(_tiles(_words(words, at + 1, count), codes, (matrix, block, strip)))
            at += 1 + count
        matrix += last_of_matrix
        if last_of_tile:
            base += TILE_WORDS
            at = base
    columns = np.array(found, np.int64).reshape(-1, 4).T
    return Entries(*columns)


def _words(words: NDArray, at: int, count: int) -> NDArray:
    if at + count > len(words):
        raise Error("E0802", f"the codes of a sparse matrix end after {len(words)} words, at {at}")
    return words[at : at + count]


def _tiles(words: NDArray, codes: Codes, where: tuple[int, int, int]) -> Iterator[tuple[int, int, int, int]]:
    """Tiles of one block, in the order of its rows."""
    matrix, block, strip = where
    before = (-1, -1)
    for word in words.tolist():
        place = word & ((1 << (16 - codes.tile_bits)) - 1)
        row, column = place >> codes.column_bits, place & ((1 << codes.column_bits) - 1)
        if not before < (row, column) or row >= codes.u_rt or column >= codes.u_kt:
            raise Error("E0802", f"tile {row}, {column} follows tile {before[0]}, {before[1]} in a block of {codes.u_rt} x {codes.u_kt}")
        before = (row, column)
        yield matrix, block * codes.u_rt + row, strip * codes.u_kt + column, word >> (16 - codes.tile_bits)


def encoded_matmul(
    tiles: NDArray,
    x: NDArray,
    codes: NDArray,
    *,
    shape: tuple[int, int, int],
    grid: tuple[int, int],
    fractures: int,
    mblock_m: int,
    u_rt: int,
    u_kt: int,
    tile_bits: int,
    ublock_bits: int,
) -> NDArray:
    """Products of each row of cores' sparse matrices with columns of x."""
    layout = Codes(mblock_m, u_rt, u_kt, tile_bits, ublock_bits)
    sides = split(x.astype(np.float32, copy=False), (SIDE, SIDE))
    acts = sides.transpose(0, 1, 3, 2, 4).reshape(-1, sides.shape[3], SIDE, SIDE)
    t, rows, columns = shape
    y = np.zeros((t, rows // SIDE, columns // SIDE, SIDE, SIDE), np.float32)
    down, across = rows // SIDE // grid[0], columns // SIDE // fractures
    held = _by_core(tiles.astype(np.float32, copy=False), grid[0], fractures)
    for i in range(grid[0]):
        for j in range(fractures):
            part = codes.reshape(1, grid[0], -1, fractures, codes.shape[-1] // fractures)[:, i, :, j]
            stream = streams(np.ascontiguousarray(part, np.uint32), 1)[0].astype("<u4").view("<u2")
            entries = decoded(stream, layout, t)
            _require(entries, len(held[i][j]), len(acts))
            target = y[:, i * down : (i + 1) * down, j * across : (j + 1) * across]
            _add_products(target, held[i][j], acts[:, j * across : (j + 1) * across], entries)
    return y.transpose(0, 1, 3, 2, 4).reshape(shape)


def _by_core(tiles: NDArray, rows: int, fractures: int) -> list[list[NDArray]]:
    """Distinct tiles [n, 32, 32] of each row of cores and fracture: the first row of tiles of its share."""
    found = split(tiles[0].reshape(rows, -1, tiles.shape[2])[:, :SIDE], (SIDE, SIDE))
    whole = found[:, 0].transpose(0, 2, 1, 3)
    return [list(np.split(row, fractures)) for row in whole]


def _require(entries: Entries, tiles: int, rows: int) -> None:
    for what, found, limit in (("tile", entries.tile, tiles), ("row of tiles", entries.column, rows)):
        if found.size and int(found.max()) >= limit:
            raise Error("E0802", f"the codes of a sparse matrix name {what} {int(found.max())} of {limit}")


def _add_products(y: NDArray, tiles: NDArray, acts: NDArray, entries: Entries) -> None:
    """y[matrix, row] += tile @ acts[column] for each entry, in their order."""
    for start in range(0, len(entries.tile), _CHUNK):
        part = slice(start, start + _CHUNK)
        products = np.matmul(tiles[entries.tile[part], None], acts[entries.column[part]])
        for product, matrix, row in zip(products, entries.matrix[part].tolist(), entries.row[part].tolist(), strict=True):
            y[matrix, row] += product


def tile_depthwise(a: NDArray, b: NDArray, *, count: int) -> NDArray:
    """Sum over blocks of a's columns of their tiles times one tile each of b."""
    left = split(a.astype(np.float32, copy=False), (SIDE, SIDE))
    right = split(b.astype(np.float32, copy=False), (SIDE, SIDE))
    columns = left.shape[3] // count
    y = np.zeros((*a.shape[:-1], a.shape[-1] // count), np.float32)
    out = split(y, (SIDE, SIDE))
    for z in range(count):
        weights = right[:, z]  # [t, 32, columns, 32]
        part = left[:, :, :, z * columns : (z + 1) * columns]
        out += np.einsum("trhck,tkcw->trhcw", part, weights, optimize=True)
    return y
