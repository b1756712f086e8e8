"""Tiles as a device has them in memory, bit by bit.

A tile is a header of 16 bytes (its size in units of 16 bytes, then zeros), an exponent section (block formats: a byte a face row), the
data, little-endian, and zeros up to the alignment.  A tile of more than 16 columns or rows is made of faces of 16 x 16, in the order
F00, F01, F10, F11; in exponents and data alike, face follows face, row follows row.  Raw formats keep whole rows of the tile.
"""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import Format, Rounding
from ttc.dialects.core.formats.base import FACE, HEADER_BYTES

HEIGHTS = (1, 2, 4, 8, 16, 32)
WIDTHS = (16, 32)
"""Sides that tiles can have, in elements."""


def pack_tiles(values: NDArray, format: Format, tile: tuple[int, int] = (32, 32), alignment: int = 32, rounding: Rounding = "rne") -> bytes:
    """Return tiles of a matrix [rows, columns] or of matrices [t, rows, columns], row by row, padded with zeros to whole tiles.

    Args:    alignment: of every tile, in bytes.  rounding: to the format.
    Raises:  E0602 for other ranks and for tiles that no device has.
    """
    _check(values.shape, tile)
    rows = face_rows(values, tile, faces=format.faces)
    exponents, data = format.to_sections(rows, rounding)
    size = format.tile_bytes(*tile, alignment)
    packed = np.zeros((len(rows), size), np.uint8)
    packed[:, :4] = np.array([size // HEADER_BYTES], "<u4").view(np.uint8)
    start = HEADER_BYTES + exponents.shape[1]
    packed[:, HEADER_BYTES:start] = exponents
    packed[:, start : start + data.shape[1]] = data
    return packed.tobytes()


def unpack_tiles(
    packed: bytes | memoryview, shape: tuple[int, ...], format: Format, tile: tuple[int, int] = (32, 32), alignment: int = 32
) -> NDArray:
    """Return the matrices of that shape that `pack_tiles` made tiles of, in the format's compute dtype.

    Raises:  E0602 if the bytes are not as many as the tiles take; headers are not looked at.
    """
    _check(shape, tile)
    size = format.tile_bytes(*tile, alignment)
    grid = _grid(shape, tile)
    if len(packed) != prod(grid) * size:
        raise Error("E0602", f"{prod(grid)} tiles of {format.name} take {prod(grid) * size} bytes, not {len(packed)}")
    tiles = np.frombuffer(packed, np.uint8).reshape(prod(grid), size)
    start = HEADER_BYTES + format.exponent_bytes(*tile)
    data = tiles[:, start : HEADER_BYTES + format.data_bytes(*tile)]
    rows = format.from_sections(tiles[:, HEADER_BYTES:start], data, _row_width(tile, format.faces))
    return matrices(rows, shape, tile, faces=format.faces)


def face_rows(values: NDArray, tile: tuple[int, int], *, faces: bool) -> NDArray:
    """Return rows of faces, or of tiles, in the order of memory: [tiles, rows, columns], padded with zeros."""
    t, down, across = _grid(values.shape, tile)
    height, width = tile
    rows, columns = values.shape[-2:]
    padded = np.zeros((t, down * height, across * width), values.dtype)
    padded[:, :rows, :columns] = values
    face = _row_width(tile, faces)
    high = min(height, FACE) if faces else height
    split = padded.reshape(t, down, height // high, high, across, width // face, face)
    return split.transpose(0, 1, 4, 2, 5, 3, 6).reshape(t * down * across, height * width // face, face)


def matrices(rows: NDArray, shape: tuple[int, ...], tile: tuple[int, int], *, faces: bool) -> NDArray:
    """Return the inverse of `face_rows`: matrices of that shape, padding cut off."""
    t, down, across = _grid(shape, tile)
    height, width = tile
    face = _row_width(tile, faces)
    high = min(height, FACE) if faces else height
    split = rows.reshape(t, down, across, height // high, width // face, high, face)
    whole = split.transpose(0, 1, 3, 5, 2, 4, 6).reshape(t, down * height, across * width)
    return np.ascontiguousarray(whole[:, : shape[-2], : shape[-1]]).reshape(shape)


def _row_width(tile: tuple[int, int], faces: bool) -> int:
    return FACE if faces else tile[1]


def _grid(shape: tuple[int, ...], tile: tuple[int, int]) -> tuple[int, int, int]:
    """(t, rows, columns) in tiles."""
    return prod(shape[:-2]), -(-shape[-2] // tile[0]), -(-shape[-1] // tile[1])


def _check(shape: tuple[int, ...], tile: tuple[int, int]) -> None:
    if len(shape) not in (2, 3):
        raise Error("E0602", f"tiles are made of matrices, not of shape {list(shape)}")
    if tile[0] not in HEIGHTS or tile[1] not in WIDTHS:
        raise Error("E0602", f"no device has tiles of {tile[0]} x {tile[1]} elements")
