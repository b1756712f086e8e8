"""Matrices as arrays of tiles."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from numpy.typing import NDArray

from ttc.dialects.core.errors import Error

SIDE = 32
"""Rows and columns of a whole tile, in elements."""
MAX_ELEMENTS = 1 << 31
"""The most elements of an array whose size attributes alone tell."""


def require_room(shape: Sequence[int]) -> None:
    """Raises E0402 for an array of negative or too many elements."""
    if min(shape, default=0) < 0 or prod(shape) > MAX_ELEMENTS:
        raise Error(
            "E0402", f"an array of {' x '.join(map(str, shape))} elements has a negative size, or more than {MAX_ELEMENTS} elements"
        )


def split(x: NDArray, tile: tuple[int, int]) -> NDArray:
    """x[..., R, C] as [..., rows of tiles, tile height, columns of tiles, tile width]: a view."""
    *lead, rows, columns = x.shape
    return x.reshape(*lead, rows // tile[0], tile[0], columns // tile[1], tile[1])


def streams(x: NDArray, cores: int) -> NDArray:
    """[cores, elements]: what each core's rows of x[t, R, C] hold, tile of 32 x 32 after tile, row by row within."""
    t, rows, columns = x.shape
    split_rows = x.reshape(t, cores, rows // cores // SIDE, SIDE, columns // SIDE, SIDE)
    return split_rows.transpose(1, 0, 2, 4, 3, 5).reshape(cores, -1)


def from_stream(stream: NDArray) -> NDArray:
    """[32, C]: the inverse of `streams` for one core of one row of tiles."""
    return stream.reshape(-1, SIDE, SIDE).transpose(1, 0, 2).reshape(SIDE, -1)
