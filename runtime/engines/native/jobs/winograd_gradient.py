"""Gradients of filters by Winograd's way: when it pays, and its jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.dialects.core.records import record
from ttc.runtime.engines.native.graph.region import Region, RegionStep, identity
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.convolutions import Result, WindowAxis
from ttc.runtime.engines.native.jobs.elementwise import compute_into
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import FLOATS, multiplier_of
from ttc.runtime.engines.native.jobs.winograd import LEAST_CHANNELS, LEAST_GAIN_OF_PAIRS, Tiling, outputs_of
from ttc.runtime.engines.native.kernels.gemm_block import Block, block_for
from ttc.runtime.engines.native.kernels.winograd_gradient import COTANGENT, RESULT_AXES, WinogradGradient
from ttc.runtime.engines.native.kernels.winograd_matrices import TAPS

if TYPE_CHECKING:
    from ttc.runtime.engines.native.kernels.words import Word

_LEAST_GAIN = 1.3
"""Multiplications saved, edges of tiles counted, below which the transforms eat up what is won."""
_SUM_TILES = 8
"""Tiles that are multiplied while the sums of a point are brought back into taps.  Measured on a core of an Intel Xeon, time of this way by
that of direct sums, with AVX-512 and with AVX2, images x side x channels of both: 8x28x64 0.44, 0.52; 8x14x128 0.57, 0.55; 8x7x256 0.75,
0.78; 8x4x512 0.78, 0.65; 4x4x512 0.89, 0.75; 2x4x512 1.10, 0.96; 2x7x256 0.86, 0.79; 1x7x256 1.03, 0.85; 8x5x64 0.98, 0.91; 8x3x64 1.02,
1.01; 8x16x16 0.73, 0.70; 64x28x16 0.48, 0.42.
"""
_PART_CHANNELS = 64
"""About how many channels of images, and of cotangents, a task has: fewer are transformed more often, sums of more leave the cache."""
_CHUNK_BYTES = 512 << 10
"""The most bytes of patches and cotangents of a chunk of tiles, which lie in the second-level cache with the sums."""
_TASKS = 8
"""As many tasks as there are at least, if tiles are divided for it: each part of the tiles has sums of its own."""
_LEAST_TILES = 32
"""The least tiles of a part of them."""


@record
class GradientSplit:
    """How the gradient of a filter is shared out among tasks, and a task's tiles among chunks.

    Args:
        block: of sums in registers.
        groups: parts of the tiles, each with sums of its own.
        row_parts, column_parts: parts of the channels of images, and of cotangents.
        most_rows, most_panels: channels of images, and panels of cotangents, of a task.
        most_tiles: of a chunk.
    """

    block: Block
    groups: int
    row_parts: int
    column_parts: int
    most_rows: int
    most_panels: int
    most_tiles: int

    @property
    def tasks(self) -> int:
        """The tasks of all groups."""
        return self.groups * self.row_parts * self.column_parts


def gradient_tiling_of(n: Lowering, x: View, w: View, axes: tuple[WindowAxis, WindowAxis]) -> Tiling | None:
    """Return how the taps w[y, x, image, column], which are cotangents, are tiled; None where the convolution of x[row, h, w, image] with
    them is none of 3 x 3 results, or direct sums are as good.
    """
    fits = all((axis.windows, axis.stride, axis.dilation) == (TAPS, 1, 1) for axis in axes)
    lanes = max(n.cpu.vector_bytes // 4, 4)
    rows, columns = x.shape[0], w.shape[3]
    if not fits or rows % lanes or columns % lanes or min(rows, columns) < LEAST_CHANNELS or not n.cpu.has("fma"):
        return None
    if x.storage not in FLOATS or w.storage not in FLOATS or x.shape[3] != w.shape[2]:
        return None
    found = [Tiling(m, -(-axes[0].taps // m), -(-axes[1].taps // m)) for m in outputs_of(n)]
    best = max(found, key=lambda tiling: _gain(tiling, axes, x.shape[3]))
    in_pairs = multiplier_of(n, x.shape[3]) == "bf16"
    return best if _gain(best, axes, x.shape[3]) >= (LEAST_GAIN_OF_PAIRS if in_pairs else _LEAST_GAIN) else None


def _gain(tiling: Tiling, axes: tuple[WindowAxis, WindowAxis], images: int) -> float:
    """Return how many multiplications direct sums take for each one of this way."""
    direct = images * axes[0].taps * axes[1].taps * TAPS**2
    return direct / ((images * tiling.rows * tiling.columns + _SUM_TILES) * tiling.points)


def gradient_split_of(n: Lowering, tiling: Tiling, tiles: int, rows: int, columns: int) -> GradientSplit:
    """Return how so many tiles, of all images, and the channels of images and cotangents are shared out."""
    block = block_for(n.cpu, min(rows, _PART_CHANNELS), columns)
    panels, vectors = block.panels(columns), rows // block.lanes
    row_parts = -(-rows // _PART_CHANNELS)
    column_parts = -(-panels // max(_PART_CHANNELS // block.columns, 1))
    most_rows, most_panels = -(-vectors // row_parts) * block.lanes, -(-panels // column_parts)
    groups = max(1, min(-(-_TASKS // (row_parts * column_parts)), tiles // _LEAST_TILES))
    group_tiles = -(-tiles // groups)
    near = max(_CHUNK_BYTES // (tiling.points * 4 * (most_rows + most_panels * block.columns)), 1)
    most_tiles = -(-group_tiles // -(-group_tiles // near))
    return GradientSplit(block.fitted(most_rows), groups, row_parts, column_parts, most_rows, most_panels, most_tiles)


def sum_tiles(n: Lowering, x: View, w: View, axes: tuple[WindowAxis, WindowAxis], tiling: Tiling, result: Result) -> None:
    """Add the jobs that convolve x[row, h, w, image] with w[y, x, image, column], both of which may lie anyhow, to 3 x 3 results."""
    images, cotangents = _dense_in_channels(n, x.permuted((3, 1, 2, 0))), _dense_in_channels(n, w.permuted((2, 0, 1, 3)))
    rows, columns = x.shape[0], w.shape[3]
    tiles = x.shape[3] * tiling.rows * tiling.columns
    split = gradient_split_of(n, tiling, tiles, rows, columns)
    target = result
    if split.groups > 1:
        parts = n.temp((split.groups, rows, TAPS, TAPS, columns), "f32")
        target = Result(parts, identity("f32"), (), ())
    kernel = WinogradGradient(tiling.outputs, split.block, target.region, target.spread, images.storage, cotangents.storage)
    words = _words(split, tiling, (images, cotangents), axes) | _result_words(kernel, target)
    flops = 2 * rows * columns * TAPS**2 * axes[0].taps * axes[1].taps * x.shape[3]
    n.job(
        kernel,
        words | {"rows": rows, "columns": columns, "tiles": tiles, "panels": split.block.panels(columns)},
        tasks=split.tasks,
        written=[target.view],
        chunk=1,
        scratch=kernel.scratch_bytes(max(rows, columns), split.most_tiles, split.most_rows, split.most_panels),
        flops=flops,
        moved_bytes=sum(view.elements * view.item_bytes for view in (images, cotangents, target.view, *target.others)),
    )
    if split.groups > 1:
        groups = [target.view.at(group) for group in range(split.groups)]
        compute_into(n, result.region.after(_sum_of(split.groups)), [*groups, *result.others], result.view)


def _dense_in_channels(n: Lowering, view: View) -> View:
    """Return a view whose channels lie one after the other."""
    return view if view.strides[3] == 1 else n.densified(view)


def _sum_of(count: int) -> Region:
    """Return the region that adds up so many operands."""
    steps = [RegionStep("add", (0 if i == 1 else count + i - 2, i), "f32") for i in range(1, count)]
    return Region(("f32",) * count, tuple(steps), 2 * count - 2)


def _words(split: GradientSplit, tiling: Tiling, views: tuple[View, View], axes: tuple[WindowAxis, WindowAxis]) -> dict[str, Word]:
    """Return words that tell of images and cotangents, and of how they are shared out."""
    words: dict[str, Word] = {"groups": split.groups, "row_parts": split.row_parts, "column_parts": split.column_parts}
    words |= {"most_tiles": split.most_tiles, "most_rows": split.most_rows, "most_panels": split.most_panels}
    moves = [{"y": (axes[0].size, axes[0].before), "x": (axes[1].size, axes[1].before)}, {"y": (axes[0].taps, 0), "x": (axes[1].taps, 0)}]
    channels = max(view.shape[3] for view in views)
    for prefix, view, move in zip(("", COTANGENT), views, moves, strict=True):
        words |= {f"{prefix}a": view, f"{prefix}channels": channels}
        words |= {f"{prefix}y_tiles": tiling.rows, f"{prefix}x_tiles": tiling.columns}
        for axis, stride in zip(("image", "y", "x"), view.strides, strict=False):
            words[f"{prefix}a_{axis}"] = stride * view.item_bytes
        for axis, (size, before) in move.items():
            words |= {f"{prefix}{axis}_size": size, f"{prefix}{axis}_before": before}
    return words


def _result_words(kernel: WinogradGradient, target: Result) -> dict[str, Word]:
    """Return words that tell where the result and the operands of its region lie."""
    words: dict[str, Word] = {"c_group": 0}
    view = target.view
    if len(view.shape) > 4:
        words["c_group"] = view.strides[0] * view.item_bytes
        view = view.at(0)
    for name, tensor in zip(("c", *kernel.finish.others), (view, *target.others), strict=True):
        words[name] = tensor
        for axis, stride in zip(RESULT_AXES, tensor.strides, strict=False):
            words[f"{name}_{axis}"] = stride * tensor.item_bytes
    return words
