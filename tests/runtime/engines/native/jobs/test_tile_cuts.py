"""How products in tiles are cut into tasks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ttc.runtime.engines.native.jobs.tile_cuts import Sizes, TileCut, cut_dense, cut_rows, runs_of
from ttc.runtime.engines.native.kernels.tile_product import BLOCK, GROUP, USUAL_GROUP

NEAR = Sizes(rows=1024, columns=256, depth=256, taps=1, panels=8, panel_bytes=16 << 10, block_bytes=16 << 10)
FAR = replace(NEAR, columns=4096, panels=128)
FLOPS = 2_000_000


def test_near_panels_are_read_by_tasks_of_neighbouring_rows() -> None:
    cut = cut_rows(NEAR, FLOPS, 1)
    assert (cut.height, cut.row_chunks, cut.panel_chunks) == (BLOCK, 32, 1)
    assert NEAR.wanted_tasks(FLOPS) == 67


def test_near_panels_are_divided_where_there_are_few_groups_of_rows() -> None:
    cut = cut_rows(replace(NEAR, rows=512), FLOPS, 1)
    assert (cut.height, cut.row_chunks, cut.panel_chunks) == (BLOCK, 16, 3)


def test_far_panels_are_read_once_by_each_group() -> None:
    cut = cut_rows(FAR, FLOPS, 1)
    assert (cut.height, cut.row_chunks, cut.panel_chunks) == (USUAL_GROUP, 8, 12)


@pytest.mark.parametrize("least", [1, 8, 200])
def test_a_task_has_no_fewer_panels_than_gathering_is_worth(least: int) -> None:
    cut = cut_rows(FAR, FLOPS, least)
    assert cut.panel_chunks == max(1, min(12, 128 // least))


def test_groups_are_as_low_as_gathered_rows_demand() -> None:
    cut = cut_rows(replace(FAR, block_bytes=600 << 10), FLOPS, 1)
    assert cut.height == BLOCK
    assert cut_rows(replace(FAR, block_bytes=16 << 20), FLOPS, 1).height == BLOCK


def test_elements_of_a_batch_share_the_tasks() -> None:
    alone, many = (replace(NEAR, count=count).wanted_tasks(FLOPS) for count in (1, 96))
    assert (alone, many) == (67, 1)
    assert replace(NEAR, rows=1).wanted_tasks(FLOPS) == 1


@pytest.mark.parametrize(("rows", "height"), [(20, 32), (197, 224), (256, 256), (257, 160), (1024, 256)])
def test_far_panels_meet_as_many_dense_rows_as_fit_a_group(rows: int, height: int) -> None:
    assert cut_dense(replace(FAR, rows=rows), FLOPS, gathers=True).height == height <= GROUP
    assert cut_dense(replace(NEAR, rows=rows), FLOPS, gathers=True).height <= min(height, USUAL_GROUP)


def test_groups_of_long_rows_are_low_where_rows_may_be_gathered() -> None:
    long = replace(FAR, block_bytes=3 << 20)
    assert cut_dense(long, FLOPS, gathers=True).height == BLOCK
    assert cut_dense(long, FLOPS, gathers=False).height == GROUP


def test_long_rows_come_in_runs_of_channels() -> None:
    """Rows of a group, and the sums that wait, stay in the second-level cache."""
    cut = TileCut(height=128, row_chunks=1, panel_chunks=24)
    long = Sizes(rows=128, columns=3072, depth=3072, taps=1, panels=96, panel_bytes=590 << 10, block_bytes=576 << 10)
    assert runs_of(long, cut) == {"run": 24, "span": 32}
    assert runs_of(replace(long, panels=5), cut)["span"] == 5
    assert runs_of(replace(long, depth=768, block_bytes=144 << 10), cut) == {}
