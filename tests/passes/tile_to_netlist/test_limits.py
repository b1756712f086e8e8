"""What rules allow of grids."""

from __future__ import annotations

import pytest

from ttc.passes.tile_to_netlist.limits import PlacementLimits


@pytest.mark.parametrize(
    ("limits", "grid", "allowed"),
    [
        (PlacementLimits(), (9, 8), True),
        (PlacementLimits(), (8, 9), True),  # on its side
        (PlacementLimits(), (9, 9), False),
        (PlacementLimits(transposed=False), (8, 9), False),
        (PlacementLimits(transposed=True), (8, 9), True),
        (PlacementLimits(transposed=True), (9, 8), False),
        (PlacementLimits(grid=(2, 4)), (2, 4), True),
        (PlacementLimits(grid=(2, 4)), (4, 2), False),
        (PlacementLimits(start=(7, 0)), (2, 8), True),
        (PlacementLimits(start=(8, 0)), (2, 8), False),
        (PlacementLimits(start=(8, 0)), (4, 1), True),
        (PlacementLimits(start=(9, 0)), (1, 1), False),
    ],
)
def test_grids_on_9_x_8_cores(limits: PlacementLimits, grid: tuple[int, int], allowed: bool) -> None:
    assert limits.allows(grid, (9, 8)) is allowed
