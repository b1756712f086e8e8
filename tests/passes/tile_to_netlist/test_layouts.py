"""Layouts on grids: no core is idle, matrices and rows are dealt out, the useful ones are kept."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import pytest

from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.netlist.sizes import dealt
from ttc.passes.tile_to_netlist.layouts import chosen_layouts, divisors, largest_divisor, layouts, splits
from ttc.passes.tile_to_netlist.limits import PlacementLimits

FUSED = load_target("n150")
BUDA = replace(FUSED, kernels="buda")


def test_splits_leave_no_core_idle():
    for tiles in range(1, 120):
        for cores, share in splits(tiles, 9):
            assert (cores - 1) * share < tiles <= cores * share


def test_largest_divisor():
    assert [largest_divisor(12, n) for n in (1, 4, 5, 12, 99)] == [1, 4, 4, 12, 12]


def test_divisors() -> None:
    assert divisors(12) == (12, 6, 4, 3, 2, 1)


@pytest.mark.parametrize("dims", [(1, 392, 2), (12, 4, 2), (1, 4, 96), (16, 12, 12), (1, 1, 1)])
def test_layouts_cover_a_result_and_leave_no_core_idle(dims: tuple[int, int, int]) -> None:
    for layout in layouts(dims, FUSED, PlacementLimits(), wide=True):
        down, across = layout.rows // layout.spread[0], layout.cols // layout.spread[1]
        part_t, part_rows, part_cols = dealt(dims, layout.spread)
        share_t, share_rows, share_cols = layout.share
        assert share_t == part_t
        assert (down - 1) * share_rows < part_rows <= down * share_rows
        assert (across - 1) * share_cols < part_cols <= across * share_cols


def test_rows_of_narrow_results_and_matrices_take_the_whole_chip() -> None:
    assert max(layout.rows * layout.cols for layout in layouts((1, 392, 1), FUSED, PlacementLimits())) >= 70
    assert max(layout.rows * layout.cols for layout in layouts((12, 4, 1), FUSED, PlacementLimits())) == 48


def test_columns_of_low_results_take_the_whole_chip_where_parts_may_share_them() -> None:
    """2 tile rows of 1000 columns: at most 2 x 9 cores, or 8 parts of 9 columns of cores, one below the other."""
    low = (1, 2, 1000)
    assert max(layout.rows * layout.cols for layout in layouts(low, FUSED, PlacementLimits())) == 18
    found = list(layouts(low, FUSED, PlacementLimits(), wide=True))
    assert max(layout.rows * layout.cols for layout in found) == 72
    assert {layout.spread for layout in found} == {(parts, 1) for parts in range(1, 10)}
    assert {layout.spread for layout in layouts(low, BUDA, PlacementLimits(), wide=True)} == {(1, 1)}


def test_kernels_of_buda_have_equal_shares_and_take_matrices_in_turn() -> None:
    found = list(layouts((12, 5, 4), BUDA, PlacementLimits()))
    assert {layout.spread for layout in found} == {(1, 1)}
    assert sorted({layout.rows for layout in found}) == [1, 5]
    assert {layout.share[0] for layout in found} == {12}


def test_of_layouts_on_as_many_cores_few_are_kept() -> None:
    found = chosen_layouts((1, 64, 64), FUSED, PlacementLimits(layouts=2))
    cores = [layout.rows * layout.cols for layout in found]
    assert max(cores.count(n) for n in cores) == 2
    work = [prod(layout.share) for layout in found]
    assert all(later < work[0] for later in work[1:])
    assert len(found) < len(list(layouts((1, 64, 64), FUSED, PlacementLimits())))


def test_divisors_of_large_numbers_take_no_time() -> None:
    assert divisors(12) == (12, 6, 4, 3, 2, 1)
    assert len(divisors(1 << 40)) == 41
    assert largest_divisor(1 << 40, 1000) == 512


def test_columns_stay_together_as_long_as_cores_do_not_need_them() -> None:
    """Heads of 6 tile rows, 2 tiles wide, as attention has them: 48 cores have a row each of 8 heads, and share the rows of 4."""

    def first(heads: int, cores: int, *, joined: bool) -> tuple[int, int, int]:
        found = chosen_layouts((heads, 6, 2), FUSED, PlacementLimits(), joined=joined)
        return next(layout.share for layout in found if layout.rows * layout.cols == cores)

    assert [first(4, 24, joined=True), first(4, 48, joined=True), first(8, 48, joined=True)] == [(1, 1, 2), (1, 1, 1), (1, 1, 2)]
    assert first(8, 48, joined=False)[2] == 1
