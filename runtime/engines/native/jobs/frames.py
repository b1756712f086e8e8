"""Frames of images for products in tiles: pitches, phases, and whether they are faster than gathered windows (see `kernels.amx_frames`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.dialects.core.records import record
from ttc.runtime.engines.native.jobs.convolutions import Images, WindowAxis
from ttc.runtime.engines.native.jobs.tile_cuts import make_room
from ttc.runtime.engines.native.kernels.amx_frames import CELL_BYTES
from ttc.runtime.engines.native.kernels.amx_pack import chunks_of
from ttc.runtime.engines.native.kernels.amx_parts import DEPTH, PRODUCTS
from ttc.runtime.engines.native.kernels.tile_product import BLOCK, USUAL_GROUP

if TYPE_CHECKING:
    from ttc.runtime.engines.native.kernels.words import Word

_MOST_BYTES = 512 << 10
"""The most bytes of the cells that are copied at once, beside those that the last window reaches: they stay in the second-level cache."""
_PRODUCT_CYCLES, _COPY_CYCLES = 2, 3
"""The cycles that it takes to multiply 32 channels of a row by a panel, and to copy them."""
MOST_WASTE = 1.25
"""How many more windows may be multiplied where images lie than there are results."""
_COPY_SHARE = 8
"""A task is so large that multiplying takes as many times as long as copying what other tasks copy, too."""


@record
class Frame:
    """How images lie in a frame of zeros, and what it takes to copy and to multiply its cells.

    Args:
        windows: from the first result to the last, those in between that are none included.
        reach: cells from the one that a window meets first to the one that it meets last.
        phases: all of them, along both axes.
        words: of `FrameRows`, but for `cells` and `frame_groups`.
        product_cycles: of 32 channels of a window, all taps, by one panel.
        copy_cycles: of 32 channels of a cell.
        panels: of the right operand.
        cell_bytes: of all channels of a cell.
    """

    windows: int
    reach: int
    phases: int
    words: dict[str, Word]
    product_cycles: int
    copy_cycles: int
    panels: int
    cell_bytes: int

    @property
    def least_rows(self) -> int:
        """The least rows of a task of all panels."""
        return _COPY_SHARE * self.reach * self.copy_cycles // (self.product_cycles * self.panels)

    def least_panels(self, rows: int) -> int:
        """Return the least panels of a task of so many rows, as tasks of other panels copy the same cells."""
        return min(self.panels, 1 + _COPY_SHARE * (rows + self.reach) * self.copy_cycles // (self.product_cycles * rows))

    @property
    def most_rows(self) -> int:
        """The most rows whose cells are copied at once."""
        return _MOST_BYTES // self.cell_bytes


@record
class PlacedFrame:
    """How images lie in a frame that is in memory already.

    Args:
        windows: as `Frame` has them.
        words: of `PlacedRows`.
    """

    windows: int
    words: dict[str, Word]


def reads_in_place(depth: int) -> bool:
    """Return whether tiles hold so many channels of a tap without others beside them: whole tiles, or a part of one."""
    return depth % DEPTH == 0 or (depth < DEPTH and depth % 2 == 0)


def placed_frame_of(images: Images, rows: int, parts: int) -> PlacedFrame | None:
    """Return the frame that images lie in, where tiles can read it; None where windows meet zeros outside, or lie otherwise.

    rows: of the result.
    """
    view, y, x = images.view, images.y, images.x
    image, line, pixel, channel = view.strides
    inside = all(axis.is_inside and axis.stride == 1 for axis in (y, x))
    if parts > 1 or view.storage != "bf16" or not inside or not reads_in_place(images.depth):
        return None
    if channel != 1 or pixel < 1 or line % pixel or image % max(line, 1):
        return None
    down, across = image // line if view.shape[0] > 1 else y.windows, line // pixel
    windows = ((view.shape[0] - 1) * down + y.windows - 1) * across + x.windows
    fits = x.windows <= across and y.windows <= down and windows <= MOST_WASTE * rows
    if not fits or not make_room(view, (BLOCK - 1) * pixel * view.item_bytes):
        return None
    return PlacedFrame(windows, {"y_pitch": down, "x_pitch": across})


@record
class _FrameAxis:
    """One axis of a frame: cells from one row or column of images to the next, zeros before the first tap, phases, cells a window spans."""

    pitch: int
    lead: int
    phases: int
    reach: int


def frame_of(images: Images, rows: int, parts: int, panels: int) -> Frame | None:
    """Return the frame of images whose windows are multiplied by so many panels; None where it is slower to read than gathered windows.

    rows: of the result.
    """
    if any(axis.stride > 1 and axis.dilation != 1 for axis in (images.y, images.x)):
        return None
    y, x = _axis(images.y), _axis(images.x)
    count = images.view.shape[0]
    windows = ((count - 1) * y.pitch + images.y.windows - 1) * x.pitch + images.x.windows
    reach, phases = y.reach * x.pitch + x.reach, y.phases * x.phases
    taps, cell_bytes = images.y.taps * images.x.taps, phases * chunks_of(images.depth) * parts * CELL_BYTES
    if (USUAL_GROUP + reach) * cell_bytes > 2 * _MOST_BYTES:
        return None
    product, copy = taps * len(PRODUCTS[parts]) * _PRODUCT_CYCLES, phases * parts * _COPY_CYCLES
    gather = taps * parts * _COPY_CYCLES
    if windows * (product * panels + copy) > rows * (product * panels + gather):
        return None
    words: dict[str, Word] = {}
    for name, axis, found in (("y", images.y, y), ("x", images.x, x)):
        words |= {f"{name}_pitch": found.pitch, f"{name}_lead": found.lead, f"{name}_phases": found.phases}
        words[f"{name}_before"] = axis.before + found.lead
    return Frame(windows, reach, phases, words, product, copy, panels, cell_bytes)


def _axis(axis: WindowAxis) -> _FrameAxis:
    """Return the shortest frame along an axis: zeros behind a row are those before the next one, where both see nothing else there."""
    lead = max(0, -(axis.taps - 1) * axis.dilation)
    phases = min(axis.stride, axis.taps)
    reach = abs((axis.taps - 1) * axis.dilation) // axis.stride

    before, end = axis.before + lead, axis.windows + reach
    there = -(-(axis.size + before) // axis.stride)  # the first cell that is a zero behind the image in every phase
    shared = (before - phases) // axis.stride + 1  # so many cells are zeros before it in every phase
    return _FrameAxis(min(end, max(axis.windows, there, end - shared)), lead, phases, reach)
