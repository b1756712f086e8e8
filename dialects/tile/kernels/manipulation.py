"""Numpy semantics of what Buda netlists do to an input before an op reads it, and to a result: copies, tiles of other sides, formats."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.tiling.arrays import require_room, split
from ttc.dialects.tile.kernels import KERNELS


@KERNELS.rule("repeat")
def repeat(x: NDArray, *, axis: int, n: int) -> NDArray:
    """x, n times one after another along an axis."""
    if n < 1:
        raise Error("E0402", f"{x.size:,} elements cannot be repeated {n:,} times")
    require_room((x.size, n))
    at = axis % x.ndim
    if x.shape[at] == 1:
        return np.broadcast_to(x, (*x.shape[:at], n, *x.shape[at + 1 :]))
    return np.concatenate([x] * n, axis=at)


@KERNELS.rule("tile_broadcast")
def tile_broadcast(x: NDArray, *, dim: str, tile: tuple[int, int]) -> NDArray:
    """Return the first row, column or element of every tile in place of all of the tile."""
    tiles = split(x, tile)
    if dim in ("r", "rc"):
        tiles = tiles[..., :1, :, :]
    if dim in ("c", "rc"):
        tiles = tiles[..., :1]
    *lead, rows, _, columns, _ = tiles.shape
    return np.broadcast_to(tiles, (*lead, rows, tile[0], columns, tile[1])).reshape(x.shape)


@KERNELS.rule("retile")
def retile(x: NDArray, *, source: tuple[int, int], kept: tuple[int, int], target: tuple[int, int]) -> NDArray:
    """Return the upper left `kept` elements of tiles of `source` in tiles of `target`, beside zeros."""
    tiles = split(x, source)
    *lead, rows, _, columns, _ = tiles.shape
    require_room((*lead, rows, target[0], columns, target[1]))
    y = np.zeros((*lead, rows, target[0], columns, target[1]), x.dtype)
    high, wide = kept
    y[..., :high, :, :wide] = tiles[..., :high, :, :wide]
    return y.reshape(*lead, rows * target[0], columns * target[1])


@KERNELS.rule("adjust")
def adjust(x: NDArray, *, to: str, rounding: str) -> NDArray:
    """Return the numbers of x as the format `to` holds them; integers of sign and magnitude have no lowest one."""
    format_ = format_named(to)
    if format_.storage.kind == "i":
        most = np.iinfo(format_.storage).max
        x = np.clip(x, -most, most)
    return format_.round(x, "truncate" if rounding == "truncate" else "rne")
