"""Convolutions by Winograd's way: when it pays, and its jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ttc.dialects.core.records import record
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.convolutions import Result, WindowAxis, matrices_of
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import multiplier_of
from ttc.runtime.engines.native.jobs.scaled_choice import are_scaled
from ttc.runtime.engines.native.kernels.gemm_block import Block, block_for
from ttc.runtime.engines.native.kernels.winograd import LIMIT_BITS, LIMIT_EXPONENT, Winograd
from ttc.runtime.engines.native.kernels.winograd_filter import FILTER_STRIDES, WinogradFilter, point_step
from ttc.runtime.engines.native.kernels.winograd_matrices import TAPS
from ttc.runtime.engines.native.kernels.winograd_patches import WinogradPatches

if TYPE_CHECKING:
    from ttc.runtime.engines.native.kernels.words import Word

LEAST_CHANNELS = 16
LEAST_GAIN = 1.5
"""Multiplications saved, edges of tiles counted, below which the transforms eat up what is won."""
LEAST_GAIN_OF_PAIRS = 2.5
"""How many times fewer products this way must take where direct sums multiply pairs of bfloat16.  Measured on AMD Zen 4, time of this way
by that of direct sums, channels x side: 128x28 0.84, 128x16 0.68, 128x14 0.87, 256x28 0.65, 256x16 0.73, 256x14 0.96 to 1.16, 512x28 0.72,
512x14 1.12, 512x8 1.65.
"""
_FILTER_TILES = 8
"""Tiles that are multiplied while a point of the filter comes from memory, by AVX2, or where direct sums read far less of one: with few
tiles, large ones are no gain.  Beside scaled integers on Zen 4: 128x14 0.70, 256x14 0.83, 512x14 0.87, 512x8 1.26, 512x7 1.11."""
_CHUNK_BYTES = 640 << 10
"""The most bytes of patches and sums of a chunk of tiles: they stay in the second-level cache with the filter's panel at one point."""
_NEAR_BYTES = 512 << 10
"""The most bytes of a filter's panel that stays in the second-level cache from chunk to chunk."""
_WHOLE_BYTES, _LEAST_PANELS = 1 << 20, 4
"""The most bytes of patches of all tiles, and the least panels, with which each task transforms its part of a filter that is computed."""
_TASKS = 24
_FEW_CHUNKS = 8
"""The most chunks of tiles for which several tasks share each, and patches are prepared."""
_LEAST_BLOCKS = 4
"""Register blocks of a chunk whose patches are prepared: as often is a filter read that is near."""
_FILTER_CHUNKS = 32
"""Into how many runs of neighbouring channels a filter is divided: where it is read in columns, they share cache lines."""
_PART_ELEMENTS = 8 << 10
"""The least elements of patches that a task prepares: 1 to 2 microseconds."""


@record
class Tiling:
    """How results of Winograd's way lie in tiles.  outputs: m, pixels along each side of a tile; rows, columns: tiles of an image."""

    outputs: int
    rows: int
    columns: int

    @property
    def points(self) -> int:
        """The points of a patch, rows times columns."""
        return (self.outputs + TAPS - 1) ** 2

    def gain(self, axes: tuple[WindowAxis, WindowAxis], images: int, filter_tiles: int) -> float:
        """Return how many multiplications direct sums take for each one of this way, if reading the filter costs as many as so many
        tiles.
        """
        direct = axes[0].windows * axes[1].windows * TAPS**2
        return images * direct / ((images * self.rows * self.columns + filter_tiles) * self.points)


def tiling_of(n: Lowering, x: View, w: View, axes: tuple[WindowAxis, WindowAxis]) -> Tiling | None:
    """Return how the result is tiled; None where direct sums are as good, or the filter is a constant with numbers too large to be added
    up.
    """
    fits = all((axis.taps, axis.stride, axis.dilation) == (TAPS, 1, 1) for axis in axes)
    lanes = max(n.cpu.vector_bytes // 4, 4)
    channels, outputs = w.shape[2:]
    if not fits or x.shape[3] != channels or channels % lanes or min(channels, outputs) < LEAST_CHANNELS or not n.cpu.has("fma"):
        return None
    in_pairs = multiplier_of(n, channels) == "bf16"
    in_integers = w.is_constant and w.is_dense and are_scaled(n, matrices_of(w, 1), outputs, channels, TAPS**2)
    filter_tiles = _FILTER_TILES if in_pairs or in_integers else 0
    found = [Tiling(m, -(-axes[0].windows // m), -(-axes[1].windows // m)) for m in outputs_of(n)]
    near = 0 if lanes == 16 else _FILTER_TILES
    best = max(found, key=lambda tiling: tiling.gain(axes, x.shape[0], max(near, filter_tiles)))
    pays = best.gain(axes, x.shape[0], filter_tiles) >= (LEAST_GAIN_OF_PAIRS if in_pairs else LEAST_GAIN)
    return best if pays and w.storage in ("f32", "bf16") and (not w.is_constant or _is_tame(w)) else None


def outputs_of(n: Lowering) -> tuple[int, ...]:
    """Return the sides of tiles that the precision of the op allows, see `kernels.winograd_matrices`."""
    return (2,) if n.node.op.precision == "float32" else (2, 4)


def _is_tame(w: View) -> bool:
    """Return whether the elements of a constant filter in float32 or bfloat16 are small enough to be added up in any way."""
    array = w.buffer.array
    if array is None or not array.size:
        return False
    if w.storage == "bf16":
        return int((array.view(np.uint16) & 0x7FFF).max()) < LIMIT_BITS >> 16
    values = array.view(np.float32) if array.dtype != np.float32 else array
    return bool(max(float(values.max()), -float(values.min())) < 2.0**LIMIT_EXPONENT)


@record
class TileSplit:
    """How tiles and panels are shared out.

    Args:
        most: tiles of a chunk.
        prepared: whether patches are, by a job before.
        whole: whether all panels meet all tiles at once, so that each task transforms its part of the filter.
    """

    block: Block
    most: int
    chunks: int
    panel_chunks: int
    prepared: bool
    whole: bool = False


def split_of(n: Lowering, tiling: Tiling, tiles: int, channels: int, columns: int, *, constant: bool = True) -> TileSplit:
    """Return how so many tiles, of all images, are shared out.  constant: whether the filter is, which is transformed at load then."""
    wide = block_for(n.cpu, tiles, columns)
    panels = wide.panels(columns)
    if not constant and tiles * channels * tiling.points * 4 <= _WHOLE_BYTES and panels >= _LEAST_PANELS:
        return TileSplit(wide, tiles, 1, min(panels, _TASKS), False, True)
    most = _most_tiles(tiles, channels, tiling.points, wide)
    prepared = n.cpu.vector_bytes < 64 and -(-tiles // most) <= _FEW_CHUNKS and panels > 1
    chunks = min(-(-_TASKS // panels), max(tiles // (_LEAST_BLOCKS * wide.rows), 1)) if prepared else -(-tiles // most)
    shared = prepared or n.cpu.vector_bytes == 64
    chunks += 0 if shared or chunks == 1 else chunks % 2  # as many for each of two threads
    most = -(-tiles // chunks)
    block = block_for(n.cpu, most, columns)
    return TileSplit(block, most, chunks, min(panels, max(1, -(-_TASKS // chunks))) if shared else 1, prepared)


def convolve_tiles(n: Lowering, x: View, w: View, axes: tuple[WindowAxis, WindowAxis], tiling: Tiling, result: Result) -> None:
    """Add the jobs that convolve x[n, h, w, c], dense in channels, with the filter w[3, 3, c, o], whose strides may be any."""
    channels, columns = w.shape[2:]
    tiles = x.shape[0] * tiling.rows * tiling.columns
    split = split_of(n, tiling, tiles, channels, columns, constant=w.is_constant)
    block = split.block
    watched = not w.is_constant
    filter_words, taps, read = _filter(n, w, tiling, block, whole=split.whole)
    kernel = Winograd(tiling.outputs, block, result.region, result.spread, x.storage, w.storage, split.prepared, watched, taps)
    image: dict[str, Word] = {"a": x, "channels": channels, "tiles": tiles, "y_tiles": tiling.rows, "x_tiles": tiling.columns}
    image |= {"chunks": split.chunks, **_strides("a", x)}
    for name, axis in zip("yx", axes, strict=True):
        image |= {f"{name}_size": axis.size, f"{name}_before": axis.before}
    tensors = {"c": result.view, **dict(zip(kernel.finish.others, result.others, strict=True))}
    words: dict[str, Word] = {**filter_words, **tensors, **image}
    words |= {"columns": columns, "y_windows": axes[0].windows, "x_windows": axes[1].windows}
    words |= {"panels": block.panels(columns), "panel_chunks": split.panel_chunks, "row_blocks": -(-split.most // block.rows)}
    words |= {"most_tiles": split.most}
    for name, view in tensors.items():
        words |= _strides(name, view)
    if split.prepared:
        words |= _patches(n, kernel, image, split, (x.elements * x.item_bytes, tiles, channels))
    n.job(
        kernel,
        words,
        tasks=split.chunks * split.panel_chunks,
        written=[result.view],
        chunk=1,
        scratch=kernel.scratch_bytes(channels, split.most),
        flops=2 * result.view.elements * channels * TAPS**2,
        moved_bytes=sum(view.elements * view.item_bytes for view in (read, x, *tensors.values())),
    )


def _strides(name: str, view: View) -> dict[str, Word]:
    strides = (stride * view.item_bytes for stride in view.strides[:3])
    return dict(zip((f"{name}_image", f"{name}_y", f"{name}_x"), strides, strict=True))


def _patches(n: Lowering, kernel: Winograd, image: dict[str, Word], split: TileSplit, size: tuple[int, int, int]) -> dict[str, Word]:
    """Return the job that prepares patches; gives words that tell where they are.  size: bytes of the images, tiles, channels."""
    image_bytes, tiles, channels = size
    elements = tiles * channels * kernel.tiles.points
    parts = max(1, min(split.most, elements // split.chunks // _PART_ELEMENTS))
    v, peaks = n.temp((elements + split.chunks * kernel.tiles.points * kernel.tiles.gap,), "f32"), n.temp((split.chunks * parts,), "u32")
    prepared: dict[str, Word] = {"v": v, "peaks": peaks, "parts": parts}
    patches = WinogradPatches(kernel.tiles)
    n.job(
        patches,
        {**image, **prepared},
        tasks=split.chunks * parts,
        written=[v, peaks],
        scratch=kernel.tiles.table_bytes(channels),
        moved_bytes=elements * 4 + image_bytes,
    )
    return prepared


def _most_tiles(tiles: int, channels: int, points: int, block: Block) -> int:
    """Tiles of a chunk: few enough to give every thread some chunks, enough to be worth it to read the filter, no more than stay near."""
    near = _CHUNK_BYTES // (points * 4 * (channels + block.columns))
    even = -(-tiles // _TASKS)
    least = 4 if channels * block.columns * points * 4 > _NEAR_BYTES else 2
    blocks = min(max(-(-even // block.rows), least), -(-max(near, 1) // block.rows))
    return blocks * block.rows


def _filter(n: Lowering, w: View, tiling: Tiling, block: Block, *, whole: bool) -> tuple[dict[str, Word], int | None, View]:
    """Return the words that tell of a filter, how its taps lie if tasks transform it themselves, and what of it they read."""
    if whole:
        w, taps = _readable(n, w)
        return {"w": w, **_filter_strides(w)}, taps, w
    u, peaks = _in_panels(n, w, tiling, block)
    return {"u": u, "w": w, **_filter_strides(w), **({} if w.is_constant else {"filter_peaks": peaks})}, None, u


def _in_panels(n: Lowering, w: View, tiling: Tiling, block: Block) -> tuple[View, View]:
    """Return the filter in panels, and bits of its largest magnitudes."""
    gap = not w.is_constant
    w, taps = _readable(n, w)
    channels, columns = w.shape[2:]
    u = n.temp((block.panels(columns), tiling.points, point_step(channels, block.columns, gap=gap)), "f32")
    peaks = n.temp((channels,), "u32")
    kernel = WinogradFilter(tiling.outputs, block.columns, block.lanes, w.storage, taps, gap)
    words = {"w": w, "u": u, "channels": channels, "columns": columns, **_filter_strides(w), "peaks": peaks}
    n.job(
        kernel,
        words,
        tasks=channels,
        written=[u, peaks],
        chunk=max(channels // _FILTER_CHUNKS, 1),
        moved_bytes=w.elements * w.item_bytes + u.elements * u.item_bytes,
    )
    return u, peaks


def _readable(n: Lowering, w: View) -> tuple[View, int]:
    """Return a filter as `WinogradFilter` reads it, and how its taps lie."""
    down, across, _, step = w.strides
    if step == 1:
        return w, 0
    if (down, across) in ((TAPS, 1), (-TAPS, -1)):
        return w, across
    return n.densified(w), 0


def _filter_strides(w: View) -> dict[str, Word]:
    return dict(zip(FILTER_STRIDES, (stride * w.item_bytes for stride in w.strides), strict=True))
