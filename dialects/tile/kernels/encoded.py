"""Numpy semantics of products with matrices of tiles: sparse ones that a stream of codes describes, and one tile a column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.tiling.arrays import SIDE, require_room, split, streams
from ttc.dialects.core.tiling.sparse_codes import Codes, SparseEntries, decoded
from ttc.dialects.tile.kernels import KERNELS

_CHUNK = 1 << 9
"""Products of tiles computed together."""


@KERNELS.rule("encoded_matmul")
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
    """Return products of each row of cores' sparse matrices with columns of x."""
    layout = Codes(mblock_m, u_rt, u_kt, tile_bits, ublock_bits)
    acts = split(x, (SIDE, SIDE)).transpose(0, 1, 3, 2, 4)
    t, rows, columns = shape
    require_room(shape)
    y = np.zeros((t, rows // SIDE, columns // SIDE, SIDE, SIDE), np.float32)
    down, across = rows // SIDE // grid[0], columns // SIDE // fractures
    held = _by_core(tiles.astype(np.float32, copy=False), grid[0], fractures)
    for i in range(grid[0]):
        for j in range(fractures):
            part = codes.reshape(1, grid[0], -1, fractures, codes.shape[-1] // fractures)[:, i, :, j]
            stream = streams(np.ascontiguousarray(part, np.uint32), 1)[0].astype("<u4").view("<u2")
            entries = decoded(stream, layout, t)
            _require(entries, len(held[i][j]), acts.shape[0] * acts.shape[1])
            target = y[:, i * down : (i + 1) * down, j * across : (j + 1) * across]
            _add_products(target, held[i][j], acts[:, :, j * across : (j + 1) * across], entries)
    return y.transpose(0, 1, 3, 2, 4).reshape(shape)


def _by_core(tiles: NDArray, rows: int, fractures: int) -> list[list[NDArray]]:
    """Distinct tiles [n, 32, 32] of each row of cores and fracture: the first row of tiles of its share."""
    found = split(tiles[0].reshape(rows, -1, tiles.shape[2])[:, :SIDE], (SIDE, SIDE))
    whole = found[:, 0].transpose(0, 2, 1, 3)
    return [list(np.split(row, fractures)) for row in whole]


def _require(entries: SparseEntries, tiles: int, rows: int) -> None:
    for what, found, limit in (("tile", entries.tile, tiles), ("row of tiles", entries.column, rows)):
        if found.size and int(found.max()) >= limit:
            raise Error("E0802", f"the codes of a sparse matrix name {what} {int(found.max())}, and there are {limit}")


def _add_products(y: NDArray, tiles: NDArray, acts: NDArray, entries: SparseEntries) -> None:
    """y[matrix, row] += tile @ acts[column] for each entry, in their order."""
    for start in range(0, len(entries.tile), _CHUNK):
        part = slice(start, start + _CHUNK)
        matrix, row = np.divmod(entries.column[part], acts.shape[1])
        taken = acts[matrix, row].astype(np.float32, copy=False)  # x may repeat a smaller tensor without holding it
        products = np.matmul(tiles[entries.tile[part], None], taken)
        for product, to, below in zip(products, entries.matrix[part].tolist(), entries.row[part].tolist(), strict=True):
            y[to, below] += product


@KERNELS.rule("tile_depthwise")
def tile_depthwise(a: NDArray, b: NDArray, *, count: int) -> NDArray:
    """Return sums over blocks of a's columns of their tiles times one tile each of b."""
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
