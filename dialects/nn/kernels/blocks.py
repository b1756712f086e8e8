"""Semantics of rows in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.interpret import RegionBody
from ttc.dialects.nn.kernels import KERNELS


@KERNELS.rule("row_blocks")
def row_blocks(*values: NDArray, rows: int, bodies: Sequence[RegionBody]) -> tuple[NDArray, ...]:
    """Return what the regions give for all rows, block after block."""
    sizes = [body.function.inputs[0].shape[0] for body in bodies]
    if not 0 < rows <= len(values) or min(sizes) < 1:
        raise Error("E0609", f"{rows} of {len(values)} values are cut into blocks of {', '.join(map(str, sizes))} rows")
    cut, whole = values[:rows], values[rows:]
    count = len(cut[0])
    if any(len(x) != count for x in cut):
        raise Error("E0802", f"values of {', '.join(str(len(x)) for x in cut)} rows are taken row by row")
    parts: list[list[NDArray]] = []
    for number, first, taken in _blocks(sizes, count):
        body, size = bodies[number], sizes[number]
        block = [x[first : first + size] if taken == size else _filled(x[first:], size) for x in cut]
        found = body(*block, *whole)
        parts.append(found if taken == size else [y[:taken] for y in found])
    if not parts:
        return tuple(bodies[0].empty(number)[:0] for number in range(len(bodies[0].function.outputs)))
    return tuple(parts[0]) if len(parts) == 1 else tuple(map(np.concatenate, zip(*parts, strict=True)))


def _blocks(sizes: Sequence[int], count: int) -> Iterator[tuple[int, int, int]]:
    """Yield the number of a region, the first row of a block for it, and how many rows of it count.

    A block is filled up where the rows left take more than half of it, or where there is no smaller one.
    """
    first, number = 0, len(sizes) - 1
    while first < count:
        size, left = sizes[number], count - first
        if 2 * left <= size and number:
            number -= 1
            continue
        yield number, first, min(size, left)
        first += size


def _filled(rows: NDArray, size: int) -> NDArray:
    """Return rows, and the first of them again and again up to a number: what is computed of it can be computed of them."""
    block = np.empty((size, *rows.shape[1:]), rows.dtype)
    block[: len(rows)] = rows
    block[len(rows) :] = rows[0]
    return block
