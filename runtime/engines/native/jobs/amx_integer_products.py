"""From views of integers to jobs of products in tiles of AMX: which are multiplied so, packing of right operands, cutting into tasks."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from ttc.dialects.core.records import record
from ttc.runtime.engines.native.codegen.features import EMULATED_TILES
from ttc.runtime.engines.native.graph.ranges import limits
from ttc.runtime.engines.native.graph.region import Region
from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.convolutions import (
    Images,
    Result,
    WindowAxis,
    in_runs,
    matrices_of,
    rows_of,
    window_words,
)
from ttc.runtime.engines.native.jobs.copies import copy, pad
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import batch_once, dims_of, matrix_words, readable, submit_packing
from ttc.runtime.engines.native.jobs.tile_cuts import Sizes, cut_rows, submit_tiles
from ttc.runtime.engines.native.kernels.amx_integer_gemm import SPAN, AmxIntegerGemm
from ttc.runtime.engines.native.kernels.amx_integer_pack import BYTE_DEPTH, PackByteTiles, byte_chunks, byte_panel_bytes
from ttc.runtime.engines.native.kernels.amx_pack import PANEL
from ttc.runtime.engines.native.kernels.gemm_rows import DenseRows
from ttc.runtime.engines.native.kernels.tile_product import BLOCK

if TYPE_CHECKING:
    from ttc.runtime.engines.native.kernels.words import Word

_LEAST_SHARE = 0.12
"""The least share of the tiles' elements that are no padding, so that tiles are the faster way: they multiply about ten times as many bytes
as vectors multiply pairs.
"""
_LEAST_FLOPS = 500_000
"""The least FLOPs of a product in tiles, which are configured and released by each task."""
_TASK_FLOPS = 4_000_000
"""The least FLOPs of a task, if there are several."""
_TASK_PANELS = 8
"""The least panels of a task, if there are several: its rows are written as bytes, which takes as long as four panels."""
_MOST_BYTES = 16 << 20
"""The most bytes of the rows of a block, all taps: it takes wild sizes to need more."""
_SOURCES: tuple[Storage, ...] = ("i8", "u8", "i16")


def are_bytes_in_tiles(n: Lowering, rows: int, columns: int, depth: int, taps: int = 1) -> bool:
    """Return whether a product of integers of 16 bits and of 8 bits is multiplied in tiles.  depth: channels of a tap."""
    width = byte_chunks(depth) * BYTE_DEPTH * taps
    if not n.cpu.has_byte_tiles or width * BLOCK * 2 > _MOST_BYTES:
        return False
    if n.cpu.has(EMULATED_TILES):
        return True
    padded = -(-rows // 16) * 16 * -(-columns // PANEL) * PANEL * width
    useful = rows * columns * depth * taps
    return 2 * useful >= _LEAST_FLOPS and useful >= _LEAST_SHARE * padded


@record
class BytePanels:
    """A right operand in tiles of bytes.

    Args:
        view: [batch..., bytes of the panels of one matrix].
        depth: channels of a tap.
    """

    view: View
    depth: int
    taps: int
    columns: int

    @property
    def count(self) -> int:
        """The panels of a matrix."""
        return -(-self.columns // PANEL)

    @property
    def panel_bytes(self) -> int:
        """The bytes of a panel."""
        return byte_panel_bytes(self.depth, self.taps)


def byte_panels(n: Lowering, b: View, taps: int) -> BytePanels:
    """Return b[batch..., taps and channels, columns] of integers that i8 holds in panels; equal elements of the batch once."""
    b = batch_once(b)
    b = b if b.strides[-1] == 1 or b.shape[-1] == 1 else n.densified(b)
    *batch, channels, columns = b.shape
    depth, panels = channels // taps, -(-columns // PANEL)
    target = n.temp((*batch, panels * byte_panel_bytes(depth, taps)), "i8")
    dims = dims_of(batch, (b, target))
    words = {"depth": depth, "taps": taps, "columns": columns, "panels": panels, "line": b.strides[-2] * b.item_bytes}
    submit_packing(n, PackByteTiles(b.storage, len(dims)), (b, target), dims, words, panels)
    return BytePanels(target, depth, taps, columns)


def multiply_bytes(n: Lowering, a: View, b: View, region: Region, views: list[View]) -> None:
    """Add the jobs of the node's result: the product of a[batch..., rows, depth] and b[batch..., depth, columns], through the region."""
    shape = n.result_shape()
    others = [readable(n, view) for view in views]
    panels, left = byte_panels(n, b, 1), _rows(n, a)
    c = n.result(strided=True)
    words, rows, batch = matrix_words(left.expanded((*shape[:-1], left.shape[-1])), panels.view, c, [view for view, _ in others])
    low, narrow = _lowest(n, left.storage)
    kernel = AmxIntegerGemm(left.storage, narrow, DenseRows(), region, tuple(spread for _, spread in others), len(batch))
    _submit(n, kernel, words | {"low": low}, rows, panels, c, prod(batch))


def convolve_bytes(n: Lowering, x: View, w: View, axes: tuple[WindowAxis, WindowAxis], result: Result) -> None:
    """Add the jobs of the products of windows of x[n, h, w, c] and a filter [kh, kw, c, o]."""
    images = _images(n, x, axes)
    panels = byte_panels(n, matrices_of(w, 1), images.y.taps * images.x.taps)
    low, narrow = _lowest(n, images.view.storage)
    kernel = AmxIntegerGemm(images.view.storage, narrow, rows_of(images), result.region, result.spread)
    words = window_words(images, panels.view, result) | {"low": low}
    _submit(n, kernel, words, prod(result.view.shape[:3]), panels, result.view, 1)


def are_windows_in_tiles(n: Lowering, rows: int, w: View, axes: tuple[WindowAxis, WindowAxis]) -> bool:
    """Return whether windows and a filter [kh, kw, c, o] are multiplied in tiles.  rows: how many windows there are."""
    run = axes[1].taps if _has_runs(w.shape[2], axes) else 1
    return are_bytes_in_tiles(n, rows, w.shape[3], w.shape[2] * run, w.shape[0] * w.shape[1] // run)


def _has_runs(channels: int, axes: tuple[WindowAxis, WindowAxis]) -> bool:
    """Return whether images of so many channels are put in a frame of zeros, so that each row of a window is one run: of fewer tiles."""
    taps = axes[1].taps
    return axes[1].dilation == 1 and byte_chunks(taps * channels) < taps * byte_chunks(channels)


def _images(n: Lowering, x: View, axes: tuple[WindowAxis, WindowAxis]) -> Images:
    """Return what windows see."""
    channels = x.shape[3]
    if not _has_runs(channels, axes):
        return in_runs(Images(_rows(n, x), *axes, channels))
    y, x_ = (replace(axis, size=max(axis.reach, axis.before + axis.size), before=0) for axis in axes)
    frame = n.temp((x.shape[0], y.size, x_.size, channels), _storage_of(x))
    pad(n, x, frame, (0, axes[0].before, axes[1].before, 0), 0)
    return in_runs(Images(frame, y, x_, channels))


def _storage_of(a: View) -> Storage:
    """Return the type that a left operand is read in."""
    return a.storage if a.storage in _SOURCES else "i16"


def _rows(n: Lowering, a: View) -> View:
    """Return a in a type that is read, its last dimension dense."""
    if a.storage in _SOURCES and (a.strides[-1] == 1 or a.shape[-1] == 1):
        return a
    target = n.temp(a.shape, _storage_of(a))
    copy(n, a, target)
    return target


def _lowest(n: Lowering, storage: Storage) -> tuple[int, bool]:
    """Return the smallest number that the node's left operand can hold, 0 included, and whether one byte holds what all are above it."""
    low, high = n.range_of(0) or limits(storage) or (0, SPAN + 1)
    low, high = min(low, 0), max(high, 0)
    return low, high - low <= SPAN


def _submit(n: Lowering, kernel: AmxIntegerGemm, words: dict[str, Word], rows: int, panels: BytePanels, written: View, count: int) -> None:
    """Add the job of a product, given the words that tell where its operands lie.  count: elements of the batch."""
    depth, taps = panels.depth, panels.taps
    block = BLOCK * taps * byte_chunks(depth) * BYTE_DEPTH
    sizes = Sizes(rows, panels.columns, depth, taps, panels.count, panels.panel_bytes, block, count)
    cut = cut_rows(sizes, _TASK_FLOPS, _TASK_PANELS)
    flops = 2 * rows * panels.columns * depth * taps * count
    submit_tiles(n, kernel, words, sizes, cut, written, kernel.scratch_bytes(depth, taps, cut.height), flops)
