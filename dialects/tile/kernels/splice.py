"""Numpy semantics of splices: pieces of several tensors in turn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.tile.facts.splice import Pieces
from ttc.dialects.tile.kernels import KERNELS


@KERNELS.rule("splice")
def splice(
    *xs: NDArray,
    pieces: tuple[int, ...],
    units: int,
    granularity: str,
    grid: tuple[int, int] = (1, 1),
    mblock: tuple[int, int] = (1, 1),
    block: tuple[int, int] = (1, 1),
    order: str = "r",
) -> NDArray:
    """Return matrices, or blocks of every core's share of the matrices, taken from the operands in turn."""
    if granularity == "t":
        return _joined(list(xs), pieces, units)
    parts = [_blocks(x, grid, block, order) for x in xs]
    return _matrices(_joined(parts, pieces, units), grid, mblock, order)


def _joined(xs: list[NDArray], pieces: tuple[int, ...], units: int) -> NDArray:
    """Join pieces along axis 0."""
    steps = Pieces(pieces).taken([len(x) for x in xs], units)
    return np.concatenate([xs[i][start : start + count] for i, start, count in steps]).astype(xs[0].dtype, copy=False)


def _blocks(x: NDArray, grid: tuple[int, int], block: tuple[int, int], order: str) -> NDArray:
    """[t, R, C] as [blocks of a core in their order, t, cores down, cores across, *block]."""
    t, rows, columns = x.shape
    down, across = rows // grid[0] // block[0], columns // grid[1] // block[1]
    split = x.reshape(t, grid[0], down, block[0], grid[1], across, block[1])
    axes = (2, 5, 0, 1, 4, 3, 6) if order == "r" else (5, 2, 0, 1, 4, 3, 6)
    return split.transpose(axes).reshape(down * across, t, grid[0], grid[1], *block)


def _matrices(blocks: NDArray, grid: tuple[int, int], mblock: tuple[int, int], order: str) -> NDArray:
    """Return matrices of blocks, which `_blocks` cut."""
    _, t, _, _, high, wide = blocks.shape
    sizes = mblock if order == "r" else mblock[::-1]
    split = blocks.reshape(*sizes, t, grid[0], grid[1], high, wide)
    axes = (2, 3, 0, 5, 4, 1, 6) if order == "r" else (2, 3, 1, 5, 4, 0, 6)
    return split.transpose(axes).reshape(t, grid[0] * mblock[0] * high, grid[1] * mblock[1] * wide)
