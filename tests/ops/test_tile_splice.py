"""tile.splice against its definition, unit by unit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.ops.tile_cases import check_error, check_op
from ttc.dialects.tile.splice import SpliceOp


def turns(available: list[int], pieces: tuple[int, ...], units: int) -> list[tuple[int, int]]:
    """(operand, unit) of each unit of the result."""
    found: list[tuple[int, int]] = []
    at = [0] * len(available)
    while len(found) < units:
        for i in range(len(available)):
            index, length, stride = pieces[3 * i : 3 * i + 3]
            found += [(i, at[i] + index + j) for j in range(length)]
            at[i] += index + stride
    return found


def test_matrices_in_turn(rng: np.random.Generator) -> None:
    a, b = (rng.standard_normal((t, 4, 6)).astype(np.float32) for t in (6, 4))
    pieces = (1, 1, 2, 0, 2, 2)
    expected = np.stack([(a, b)[i][unit] for i, unit in turns([6, 4], pieces, 6)])
    check_op(SpliceOp, [a, b], {"pieces": pieces, "units": 6, "granularity": "t"}, expected)


def block(x: NDArray, core: tuple[int, int], share: tuple[int, int], size: tuple[int, int], order: str, unit: int) -> tuple[slice, slice]:
    """Where a block of a core lies in every matrix of x."""
    down, across = share[0] // size[0], share[1] // size[1]
    r, c = (unit // across, unit % across) if order == "r" else (unit % down, unit // down)
    top, left = core[0] * share[0] + r * size[0], core[1] * share[1] + c * size[1]
    return slice(top, top + size[0]), slice(left, left + size[1])


@pytest.mark.parametrize("order", ["r", "c"])
def test_blocks_of_every_core_in_turn(order: str, rng: np.random.Generator) -> None:
    grid, mblock, size = (2, 2), (3, 2), (2, 4)
    a, b = (rng.standard_normal((2, 2 * rows, 2 * columns)).astype(np.float32) for rows, columns in ((4, 16), (2, 8)))
    pieces, result = (1, 2, 3, 0, 1, 1), np.zeros((2, 12, 16), np.float32)
    steps = turns([8, 2], pieces, 6)
    for core in np.ndindex(*grid):
        for unit, (i, source) in enumerate(steps):
            x = (a, b)[i]
            share = (x.shape[1] // 2, x.shape[2] // 2)
            rows, columns = block(x, core, share, size, order, source)
            to_rows, to_columns = block(result, core, (6, 8), size, order, unit)
            result[:, to_rows, to_columns] = x[:, rows, columns]
    attrs = {"pieces": pieces, "units": 6, "granularity": "ublock", "grid": grid, "mblock": mblock, "block": size, "order": order}
    check_op(SpliceOp, [a, b], attrs, result)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"granularity": "tile"}, "E0402"),
        ({"pieces": (0, 2, 2)}, "E0401"),
        ({"pieces": (0, 2, 1, 0, 2, 2)}, "E0402"),
        ({"pieces": (0, 2, 2, 0, 1, 2)}, "E0402"),
        ({"pieces": (0, 0, 2, 0, 2, 2)}, "E0402"),
        ({"pieces": (-1, 2, 3, 0, 2, 2)}, "E0402"),
        ({"units": 5}, "E0402"),
        ({"units": 1 << 40}, "E0402"),
        ({"granularity": "ublock", "block": (3, 3), "mblock": (2, 2)}, "E0401"),
        ({"granularity": "ublock", "block": (4, 6), "mblock": (3, 2)}, "E0402"),
    ],
)
def test_what_does_not_fit(changes: dict[str, Any], code: str) -> None:
    attrs = {"pieces": (0, 2, 2, 0, 2, 2), "units": 4, "granularity": "t"} | changes
    check_error(SpliceOp, [(2, 4, 6), (2, 4, 6)], attrs, code)
