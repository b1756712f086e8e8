"""Frames of images: where each window finds its pixels, and when they are worth it."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.graph.tensors import Place, PlanBuffer, View, dense
from ttc.runtime.engines.native.jobs.convolutions import Images, WindowAxis
from ttc.runtime.engines.native.jobs.frames import Frame, PlacedFrame, frame_of, placed_frame_of, reads_in_place
from ttc.runtime.engines.native.kernels.amx_frames import FrameRows
from ttc.runtime.engines.native.kernels.gemm_rows import WindowRows
from ttc.runtime.engines.native.kernels.tile_product import BLOCK

AXES = st.builds(
    WindowAxis,
    size=st.integers(1, 9),
    windows=st.integers(1, 9),
    taps=st.integers(1, 4),
    stride=st.integers(1, 3),
    dilation=st.sampled_from((-2, -1, 1, 2)),
    before=st.integers(-3, 4),
)


def framed(y: WindowAxis, x: WindowAxis, count: int = 1, depth: int = 32, panels: int = 1) -> Frame | None:
    view = dense(PlanBuffer(2), "bf16", (count, y.size, x.size, depth))
    return frame_of(Images(view, y, x, depth), count * y.windows * x.windows, 1, panels)


def same(size: int, taps: int = 3, stride: int = 1) -> WindowAxis:
    return WindowAxis(size, -(-size // stride), taps, stride, 1, taps // 2)


def cell_of(words: dict[str, Any], axis: WindowAxis, name: str, tap: int) -> tuple[int, int]:
    """Cells that a tap is ahead of the window's own, and its phase."""
    return divmod(tap * axis.dilation + words[f"{name}_lead"], axis.stride)


def pixel_of(words: dict[str, Any], axis: WindowAxis, name: str, cell: int, phase: int) -> int | None:
    """The pixel of a cell along an axis; None where it is a zero."""
    place = cell * axis.stride + phase - words[f"{name}_before"]
    return place if 0 <= place < axis.size else None


@given(y=AXES, x=AXES, count=st.integers(1, 3))
def test_each_tap_meets_its_pixel(y: WindowAxis, x: WindowAxis, count: int) -> None:
    """The cell behind a window by the tap's fixed distance is the pixel that the convolution sees there, or a zero."""
    found = framed(y, x, count)
    assume(found is not None)
    assert found is not None
    words: dict[str, Any] = found.words
    down, across = words["y_pitch"], words["x_pitch"]
    for image, row, column in product(range(count), range(y.windows), range(x.windows)):
        window = (image * down + row) * across + column
        assert window < found.windows
        for i, j in product(range(y.taps), range(x.taps)):
            (below, y_phase), (beside, x_phase) = cell_of(words, y, "y", i), cell_of(words, x, "x", j)
            assert y_phase < words["y_phases"]
            assert x_phase < words["x_phases"]
            cell = window + below * across + beside
            assert 0 <= cell - window <= found.reach
            line, at = divmod(cell, across)
            seen = (line // down, pixel_of(words, y, "y", line % down, y_phase), pixel_of(words, x, "x", at, x_phase))
            place = (row * y.stride + i * y.dilation - y.before, column * x.stride + j * x.dilation - x.before)
            if 0 <= place[0] < y.size and 0 <= place[1] < x.size:
                assert seen == (image, *place)
            else:
                assert None in seen


def test_zeros_between_rows_and_images_are_shared() -> None:
    found = framed(same(14), same(20), 2)
    assert found is not None
    assert (found.words["y_pitch"], found.words["x_pitch"]) == (15, 21)
    inside = framed(WindowAxis(14, 12, 3, 1, 1, 0), WindowAxis(20, 18, 3, 1, 1, 0))
    assert inside is not None
    assert inside.words["x_pitch"] == 20
    halved = framed(same(14, stride=2), same(20, stride=2))
    assert halved is not None
    assert (halved.phases, halved.words["x_pitch"]) == (4, 11)


def test_small_images_are_gathered_where_many_panels_wait() -> None:
    """Eight columns of nine would be zeros' neighbours: more than what copying each pixel nine times takes."""
    assert framed(same(7), same(7), 8, panels=16) is None
    assert framed(same(7), same(7), 8, panels=1) is not None
    assert framed(same(56), same(56), 8, panels=16) is not None


def test_strides_with_dilation_are_gathered() -> None:
    both = WindowAxis(16, 8, 3, 2, 2, 2)
    assert framed(both, both) is None
    assert framed(both, same(16)) is None


def test_frames_of_wild_sizes_are_refused_at_once() -> None:
    """Cells that a window spans would not stay in the cache."""
    wide = WindowAxis(1 << 40, 1 << 39, 1 << 20, 1, 1 << 18, 0)
    assert framed(same(3), wide) is None
    assert framed(same(56), same(56), depth=1 << 16) is None


@pytest.mark.parametrize("panels", [1, 2, 4, 64])
def test_tasks_copy_a_small_part_of_what_they_multiply(panels: int) -> None:
    """At least eight times as long is spent on products as on cells that other tasks copy, too; a window of one pixel spans none."""
    found = framed(same(56), same(56), panels=panels)
    assert found is not None
    copied = found.reach * found.copy_cycles
    assert found.least_rows * panels * found.product_cycles <= 8 * copied < (found.least_rows + 1) * panels * found.product_cycles
    rows = max(found.least_rows, 32)
    least = found.least_panels(rows)
    assert least == panels or least * found.product_cycles * rows >= 8 * (rows + found.reach) * found.copy_cycles
    points = framed(same(56, taps=1), same(56, taps=1), panels=panels)
    assert points is not None
    assert (points.reach, points.least_rows) == (0, 0)


def test_words_are_those_of_the_kernel() -> None:
    found = framed(same(14), same(14))
    assert found is not None
    own = set(FrameRows().names(("a",))) - set(WindowRows().names(("a",)))
    assert own == (set(found.words) - {"y_before", "x_before"}) | {"cells", "frame_groups"}


# ---- images that are read where they lie -----------------------------------------------------------------------------------------------


def placed(view: View, taps: int = 3, windows: tuple[int, int] | None = None, stride: int = 1, parts: int = 1) -> PlacedFrame | None:
    height, width = view.shape[1:3]
    down, across = windows or (height - taps + 1, width - taps + 1)
    y, x = (WindowAxis(size, count, taps, stride, 1, 0) for size, count in ((height, down), (width, across)))
    return placed_frame_of(Images(view, y, x, view.shape[3]), view.shape[0] * down * across, parts)


def test_windows_of_all_images_are_at_one_stride() -> None:
    view = dense(PlanBuffer(2), "bf16", (3, 22, 30, 16))
    found = placed(view)
    assert found is not None
    assert found.words == {"y_pitch": 22, "x_pitch": 30}
    assert found.windows == (2 * 22 + 19) * 30 + 28
    last = (found.windows - 1) + 2 * 30 + 2  # the cell that the last window meets last
    assert last == 3 * 22 * 30 - 1
    assert view.buffer.size_bytes == (last + BLOCK) * 16 * 2  # a whole block is read from there on


def test_channels_of_others_may_lie_between() -> None:
    whole = dense(PlanBuffer(2), "bf16", (1, 22, 30, 48))
    found = placed(whole.sliced(3, 16, 32))
    assert found is not None
    assert found.words == {"y_pitch": 20, "x_pitch": 30}


@pytest.mark.parametrize(("channels", "reads"), [(1, False), (2, True), (30, True), (31, False), (32, True), (34, False), (64, True)])
def test_tiles_hold_the_channels_of_one_tap(channels: int, reads: bool) -> None:
    assert reads_in_place(channels) == reads
    assert (placed(dense(PlanBuffer(2), "bf16", (1, 22, 30, channels))) is not None) == reads


def test_other_images_are_copied() -> None:
    def images(*shape: int, storage: Storage = "bf16", place: Place = Place.ARENA) -> View:
        return dense(PlanBuffer(2, place), storage, shape)

    assert placed(images(1, 22, 30, 32)) is not None
    assert placed(images(1, 22, 30, 32), parts=2) is None
    assert placed(images(1, 22, 30, 32, storage="f32")) is None
    assert placed(images(1, 22, 30, 32, place=Place.BOUND)) is None
    assert placed(images(1, 22, 30, 32), stride=2, windows=(10, 14)) is None
    assert placed(images(1, 22, 30, 32), windows=(22, 30)) is None  # zeros behind the images are missing
    assert placed(images(1, 22, 6, 32)) is None  # a third of all windows would be none
    assert placed(images(1, 22, 32, 30).permuted((0, 1, 3, 2))) is None
