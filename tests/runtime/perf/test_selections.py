"""Passes of sparse products over what they select from."""

from __future__ import annotations

import pytest

from tests.runtime.perf.conftest import LAYOUT
from ttc.dialects.core.kernels.windows import windows
from ttc.dialects.core.plain.functions import TensorType, Work
from ttc.passes.tile.expand.selection import Selection, along, windows_of
from ttc.runtime.perf.selections import passes_of


def passes(selection: Selection, matrices: int, step_rows: int, strip_rows: int) -> int:
    rows = 1
    for size in selection.sizes[selection.terms :]:
        rows *= size
    result = TensorType((matrices, rows // matrices, 32), "Float16_b", LAYOUT)
    return passes_of(Work("tile.sparse_matmul", (0,), selection.attrs(), (result,)), result, matrices, step_rows, strip_rows)


def taps(terms: int = 0) -> Selection:
    """3 x 3 windows on an image of 16 x 16 pixels."""
    return windows_of((1, 16, 16), (16, 16), windows((3, 3), (1, 1), (1, 1, 1, 1), (1, 1)), terms=terms)


@pytest.mark.parametrize(
    ("strip_rows", "found"),
    [
        (32, 9),  # each tap starts at the top again
        (256, 1),  # the image is one strip, which stays
        (128, 9),
    ],
)
def test_each_tap_passes_over_the_image(strip_rows: int, found: int) -> None:
    assert passes(taps(), 9, 256, strip_rows) == found


def test_all_taps_in_one_matrix_pass_once() -> None:
    assert passes(taps(), 1, 9 * 256, 32) == 1
    assert passes(taps(terms=2), 1, 256, 32) == 1


def test_steps_of_one_matrix_go_on_where_the_last_ended() -> None:
    assert passes(along((256,), (256,)), 1, 64, 32) == 1
    assert passes(along((256,), (256,), [255], [-1]), 1, 64, 32) == 4  # from the end to the start


def test_taps_in_blocks_of_rows_start_anew_for_their_halo() -> None:
    # windows (4 rows of the result a block), then taps, then pixels of the block
    steps = ((0, 0, 0, 0, 0), (4, 1, 0, 1, 0), (0, 0, 1, 0, 1))
    selection = Selection((1, 16, 16), (4, 3, 3, 4, 16), steps, (0, -1, -1), (1, 1, 1))
    assert passes(selection, 4, 9 * 64, 32) == 4  # each block needs the row above its first
    assert passes(selection, 36, 64, 32) > 9


def test_taps_of_one_row_in_blocks_pass_once() -> None:
    steps = ((0, 0, 0, 0), (4, 0, 1, 0), (0, 1, 0, 1))
    selection = Selection((1, 16, 16), (4, 3, 4, 16), steps, (0, -1, -1), (1, 1, 1))
    assert passes(selection, 4, 3 * 64, 64) == 1  # the strip that a block ends with is still there


def test_what_makes_no_sense_passes_once() -> None:
    result = TensorType((1, 32, 32), "Float16_b", LAYOUT)
    assert passes_of(Work("tile.sparse_matmul", (0,), {}, (result,)), result, 1, 32, 32) == 1
    odd = along((256,), (256,)).attrs() | {"steps": (1, 2, 3)}
    assert passes_of(Work("tile.sparse_matmul", (0,), odd, (result,)), result, 1, 32, 32) == 1


def test_long_selections_start_anew_for_every_matrix() -> None:
    assert passes(along((1 << 23,), (1 << 23,)), 4, 1 << 20, 32) == 4
