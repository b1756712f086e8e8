"""What rules allow of grids."""

from __future__ import annotations

import pytest

from ttc.passes.tile_to_netlist.limits import Limits


@pytest.mark.parametrize(
    ("limits", "grid", "allowed"),
    [
        (Limits(), (9, 8), True),
        (Limits(), (8, 9), True),  # on its side
        (Limits(), (9, 9), False),
        (Limits(transposed=False), (8, 9), False),
        (Limits(transposed=True), (8, 9), True),
        (Limits(transposed=True), (9, 8), False),
        (Limits(grid=(2, 4)), (2, 4), True),
        (Limits(grid=(2, 4)), (4, 2), False),
        (Limits(start=(7, 0)), (2, 8), True),
        (Limits(start=(8, 0)), (2, 8), False),
        (Limits(start=(8, 0)), (4, 1), True),
        (Limits(start=(9, 0)), (1, 1), False),
    ],
)
def test_grids_on_9_x_8_cores(limits: Limits, grid: tuple[int, int], allowed: bool) -> None:
    assert limits.allows(grid, (9, 8)) is allowed
