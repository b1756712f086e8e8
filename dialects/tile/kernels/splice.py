"""Numpy semantics of splices: pieces of several tensors in turn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.dialects.tile.kernels import KERNELS

MAX_UNITS = 1 << 22
"""Bound on the pieces of a splice."""


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
    """Matrices, or blocks of every core's share of the matrices, taken from the operands in turn."""
    if granularity == "t":
        return _joined(list(xs), pieces, units)
    parts = [_blocks(x, grid, block, order) for x in xs]
    return _matrices(_joined(parts, pieces, units), grid, mblock, order)


@record
class Pieces:
    """What is taken of operands in turn.

    Args:    numbers: index, length and stride of each operand: a turn drops `index` units of it, takes `length`, and drops the rest of
             `stride`.
    """

    numbers: tuple[int, ...]

    def taken(self, available: Sequence[int], units: int) -> list[tuple[int, int, int]]:
        """(operand, first unit, how many) of every step.

        Args:    available: units of each operand.  units: of the result.
        Raises:  E0402 if the steps do not use up the operands as they fill the result.
        """
        steps: list[tuple[int, int, int]] = []
        specs = [self.numbers[3 * i : 3 * i + 3] for i in range(len(available))]
        if not specs or any(index < 0 or not 0 < length <= stride for index, length, stride in specs) or units > MAX_UNITS:
            raise Error("E0402", f"pieces {list(self.numbers)} are not an index, a length and a stride of at least that for each operand")
        at, filled = [0] * len(specs), 0
        while filled < units:
            for i, (index, length, stride) in enumerate(specs):
                steps.append((i, at[i] + index, length))
                at[i] += index + stride
                filled += length
        if filled != units or at != list(available):
            raise Error("E0402", f"pieces {list(self.numbers)} use {at} of {list(available)} units and fill {filled} of {units}")
        return steps


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
