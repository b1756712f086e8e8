"""From views to jobs of products in tiles of AMX: splitting of rows, packing of right operands, cutting into tasks.

Which products are multiplied so: `tile_choice`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from ttc.dialects.core.records import record
from ttc.runtime.engines.native.graph.region import Region
from ttc.runtime.engines.native.graph.tensors import View, dense
from ttc.runtime.engines.native.jobs.convolutions import Images, Result, window_words
from ttc.runtime.engines.native.jobs.copies import pad
from ttc.runtime.engines.native.jobs.frames import Frame, frame_of, placed_frame_of
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import (
    FLOATS,
    dims_of,
    left_operand,
    matrix_words,
    readable,
    rewritten_rows,
    right_operand,
    submit_packing,
    whole_region,
)
from ttc.runtime.engines.native.jobs.tile_cuts import Sizes, TileCut, cut_dense, cut_rows, make_room, runs_of, submit_tiles
from ttc.runtime.engines.native.kernels.amx_float_rows import FloatRows
from ttc.runtime.engines.native.kernels.amx_frames import FrameRows, PlacedRows
from ttc.runtime.engines.native.kernels.amx_gemm import AmxGemm
from ttc.runtime.engines.native.kernels.amx_pack import PANEL, PackTiles, SplitRows, chunks_of, panel_bytes, row_bytes
from ttc.runtime.engines.native.kernels.amx_parts import DEPTH
from ttc.runtime.engines.native.kernels.gemm_rows import DenseRows, WindowRows
from ttc.runtime.engines.native.kernels.tile_product import BLOCK, USUAL_GROUP

if TYPE_CHECKING:
    from ttc.runtime.engines.native.kernels.words import Word

_TASK_FLOPS = 2_000_000
"""The least FLOPs of a task, if there are several."""
_TASK_PANELS = 8
"""The least panels of a task whose rows are gathered, if there are several: gathering takes about as long as one panel."""


@record
class TilePanels:
    """A right operand in tiles.

    Args:
        view: [batch..., elements of the panels of one matrix].
        depth: channels of a tap.
        parts: of operands.
    """

    view: View
    depth: int
    taps: int
    columns: int
    parts: int

    @property
    def count(self) -> int:
        """The panels of one matrix."""
        return -(-self.columns // PANEL)


def _padded(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def tile_rows(n: Lowering, a: View, parts: int, spare: int = 0) -> View:
    """Return rows a[..., depth] as tiles are loaded from them: bfloat16, or [..., elements of a row of parts].

    spare: rows of parts for which there is memory behind the last one.
    """
    if parts == 1:
        return left_operand(n, a, "bf16")
    *lead, depth = a.shape
    width = row_bytes(depth, parts) // 2
    target = dense(n.temp((prod(lead) + spare, width), "bf16").buffer, "bf16", (*lead, width))
    return rewritten_rows(n, a, target, lambda batch: SplitRows(a.storage, batch, parts))


def tile_panels(n: Lowering, b: View, taps: int, parts: int) -> TilePanels:
    """Return b[batch..., taps and channels, columns] in panels; equal elements of the batch once."""
    b = right_operand(b)
    b = b if b.strides[-1] == 1 or b.shape[-1] == 1 else n.densified(b)
    *batch, channels, columns = b.shape
    depth, panels = channels // taps, -(-columns // PANEL)
    target = n.temp((*batch, panels * panel_bytes(depth, taps, parts) // 2), "bf16")
    dims = dims_of(batch, (b, target))
    kernel = PackTiles(b.storage, parts, len(dims))
    line = b.strides[-2] * b.item_bytes
    words = {"depth": depth, "taps": taps, "columns": columns, "panels": panels, "line": line}
    submit_packing(n, kernel, (b, target), dims, words, panels)
    return TilePanels(target, depth, taps, columns, parts)


@record
class _Laid:
    """Where the operands of a product of dense rows lie, and how it is cut.  batch: its dimensions.  runs: see `tile_cuts.runs_of`."""

    words: dict[str, Word]
    batch: int
    sizes: Sizes
    cut: TileCut
    runs: dict[str, int]

    @property
    def meets_rows_once(self) -> bool:
        """Whether one task meets each group of rows, all of its channels at once."""
        return not self.runs and self.cut.panel_chunks == self.sizes.count == 1


def multiply_in_tiles(n: Lowering, a: View, b: View, bias: View | None, parts: int) -> None:
    """Add the jobs of the node's result: the product of a[batch..., rows, depth] and b[batch..., depth, columns], through the region."""
    region, others = whole_region(n, bias)
    product_in_tiles(n, a, b, region, others, n.result(strided=True), parts)


def product_in_tiles(n: Lowering, a: View, b: View, region: Region, views: Sequence[View], c: View, parts: int) -> None:
    """Add the jobs of c = region(a[batch..., rows, depth] b[batch..., depth, columns], views...).  views: in the shape of c."""
    others = [readable(n, view) for view in views]
    panels = tile_panels(n, b, 1, parts)
    flops = 2 * c.elements * b.shape[-2]
    tensors = (c, *(view for view, _ in others))
    laid = _laid(a, panels, tensors) if parts > 1 and a.storage in FLOATS and a.is_dense else None
    if laid is not None and laid.meets_rows_once:
        rows: DenseRows = FloatRows(a.storage)
    else:
        if parts == 1 and panels.depth % DEPTH and a.storage != "bf16":
            left, panels = _whole_rows(n, a), replace(panels, depth=_padded(panels.depth, DEPTH))
        else:
            left = tile_rows(n, a, parts, BLOCK - 1)
        rows, laid = DenseRows(), _laid(left, panels, tensors)
    cut, runs = laid.cut, laid.runs
    has_room = parts == 1 and panels.depth % DEPTH == 0 and _make_room(laid)
    kernel = AmxGemm(parts, rows, region, tuple(spread for _, spread in others), laid.batch, bool(runs), has_room)
    gathered = cut.height if (parts == 1 and not has_room) or isinstance(rows, FloatRows) else 0
    scratch = kernel.scratch_bytes(panels.depth, 1, gathered, cut.height * runs.get("span", 0))
    submit_tiles(n, kernel, {**laid.words, **runs}, laid.sizes, cut, c, scratch, flops)


def _laid(left: View, panels: TilePanels, tensors: Sequence[View]) -> _Laid:
    """Lay out a product.  tensors: the result, and what its region reads besides."""
    c, *others = tensors
    words, rows, batch = matrix_words(left.expanded((*c.shape[:-1], left.shape[-1])), panels.view, c, others)
    sizes = _sizes(panels, rows, prod(batch))
    cut = cut_dense(sizes, _TASK_FLOPS, gathers=panels.parts == 1)
    return _Laid(words, len(batch), sizes, cut, runs_of(sizes, cut))


def _make_room(laid: _Laid) -> bool:
    """Return whether a block of rows can be read behind the last one, in memory that is made larger for it."""
    left, step = laid.words["a"], laid.words["a_row"]
    if laid.sizes.rows % BLOCK == 0:
        return True
    if not isinstance(left, View) or not isinstance(step, int):
        return False
    return make_room(left, (BLOCK - laid.sizes.rows % BLOCK) * abs(step))


def _whole_rows(n: Lowering, a: View) -> View:
    """Return rows a[..., depth], which are not in bfloat16, rewritten so, with zeros behind: of whole tiles, which no task gathers."""
    if a.storage not in FLOATS:
        raise NotTaken(f"operands in {a.storage}")
    target = n.temp((*a.shape[:-1], _padded(a.shape[-1], DEPTH)), "bf16")
    pad(n, a, target, (0,) * len(a.shape), 0.0)
    return target


def convolve_in_tiles(n: Lowering, images: Images, panels: TilePanels, result: Result) -> None:
    """Add the jobs of the products of windows and panels.  images: of rows as `tile_rows` gives them."""
    words, rows = window_words(images, panels.view, result), prod(result.view.shape[:3])
    flops = 2 * result.view.elements * panels.depth * panels.taps
    placed = placed_frame_of(images, rows, panels.parts)
    frame = None if placed is not None else frame_of(images, rows, panels.parts, panels.count)
    if placed is not None:
        kernel = AmxGemm(panels.parts, PlacedRows(), result.region, result.spread)
        sizes = _sizes(panels, placed.windows)
        cut, gathered = cut_dense(sizes, _TASK_FLOPS, gathers=False), 0
        words |= placed.words
    elif frame is None:
        kernel = AmxGemm(panels.parts, WindowRows(), result.region, result.spread)
        sizes = _sizes(panels, rows)
        cut = cut_rows(sizes, _TASK_FLOPS, _TASK_PANELS)
        gathered = cut.height * panels.taps
    else:
        kernel = AmxGemm(panels.parts, FrameRows(), result.region, result.spread)
        sizes = _sizes(panels, frame.windows)
        cut, together = _cut_frame(frame, sizes)
        cells = together * cut.height + frame.reach
        words |= {**frame.words, "cells": cells, "frame_groups": together}
        gathered = cells * frame.phases
    scratch = kernel.scratch_bytes(panels.depth, panels.taps, gathered)
    submit_tiles(n, kernel, words, sizes, cut, result.view, scratch, flops)


def _sizes(panels: TilePanels, rows: int, count: int = 1) -> Sizes:
    panel = panel_bytes(panels.depth, panels.taps, panels.parts)
    block = BLOCK * panels.taps * chunks_of(panels.depth) * DEPTH * 2 * panels.parts
    return Sizes(rows, panels.columns, panels.depth, panels.taps, panels.count, panel, block, count)


def _cut_frame(frame: Frame, sizes: Sizes) -> tuple[TileCut, int]:
    """Cut a product of the windows of a frame into tasks so large that copying its cells is a small part of each; return also how many
    groups copy their cells at once.
    """
    rows, wanted = sizes.rows, sizes.wanted_tasks(_TASK_FLOPS)
    row_chunks = max(1, min(wanted, rows // max(frame.least_rows, BLOCK)))
    if not sizes.is_near:
        row_chunks = min(row_chunks, -(-rows // USUAL_GROUP))
    task_rows = -(-rows // row_chunks)
    height = min(USUAL_GROUP, _padded(task_rows, BLOCK))
    groups = -(-rows // height)
    row_chunks = min(groups, row_chunks)
    panel_chunks = min(max(sizes.panels // frame.least_panels(task_rows), 1), -(-wanted // row_chunks))
    together = min(-(-groups // row_chunks), max(frame.most_rows // height, 1))
    return TileCut(height, row_chunks, panel_chunks), together
