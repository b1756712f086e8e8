"""From views to jobs of products in tiles of AMX: splitting of rows, packing of right operands, cutting into tasks.

Which products are multiplied so: `tile_choice`.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from ttc.dialects.core.records import record
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.convolutions import Images, Result, window_words
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import (
    TASKS,
    dims_of,
    left_operand,
    matrix_words,
    readable,
    rewritten_rows,
    right_operand,
    submit_packing,
    whole_region,
)
from ttc.runtime.engines.native.kernels.amx_gemm import BLOCK, GROUP, AmxGemm
from ttc.runtime.engines.native.kernels.amx_pack import PANEL, PackTiles, SplitRows, chunks_of, panel_bytes, row_bytes
from ttc.runtime.engines.native.kernels.amx_parts import DEPTH
from ttc.runtime.engines.native.kernels.gemm_rows import DenseRows, WindowRows

if TYPE_CHECKING:
    from ttc.runtime.engines.native.kernels.words import Word

_TASK_FLOPS = 2_000_000
"""The least FLOPs of a task, if there are several."""
_TASK_PANELS = 8
"""The least panels of a task whose rows are gathered, if there are several: gathering takes about as long as one panel."""
_NEAR_BYTES = 1 << 20
"""The most bytes of a right operand that stays in the second-level cache of a CPU with tiles, beside the rows that meet it."""
_SCRATCH_BYTES = 1 << 20
"""The most bytes of the gathered rows of a group, except for the smallest group."""


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


def _padded(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def tile_rows(n: Lowering, a: View, parts: int) -> View:
    """Return rows a[..., depth] as tiles are loaded from them: bfloat16, or [..., elements of a row of parts]."""
    if parts == 1:
        return left_operand(n, a, "bf16")
    target = n.temp((*a.shape[:-1], row_bytes(a.shape[-1], parts) // 2), "bf16")
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


def multiply_in_tiles(n: Lowering, a: View, b: View, bias: View | None, parts: int) -> None:
    """Add the jobs of the node's result: the product of a[batch..., rows, depth] and b[batch..., depth, columns], through the region."""
    shape = n.result_shape()
    region, views = whole_region(n, bias)
    others = [readable(n, view) for view in views]
    panels, left = tile_panels(n, b, 1, parts), tile_rows(n, a, parts)
    c = n.result(strided=True)
    left = left.expanded((*shape[:-1], left.shape[-1]))
    words, rows, batch = matrix_words(left, panels.view, c, [view for view, _ in others])
    kernel = AmxGemm(parts, DenseRows(), region, tuple(spread for _, spread in others), len(batch))
    _submit(n, kernel, words, rows, panels, c, prod(batch))


def convolve_in_tiles(n: Lowering, images: Images, panels: TilePanels, result: Result) -> None:
    """Add the jobs of the products of windows and panels.  images: of rows as `tile_rows` gives them."""
    kernel = AmxGemm(panels.parts, WindowRows(), result.region, result.spread)
    words = window_words(images, panels.view, result)
    _submit(n, kernel, words, prod(result.view.shape[:3]), panels, result.view, 1)


def _submit(n: Lowering, kernel: AmxGemm, words: dict[str, Word], rows: int, panels: TilePanels, written: View, count: int) -> None:
    """Add the job of a product, given the words that tell where its operands lie.  count: elements of the batch."""
    panel_count = -(-panels.columns // PANEL)
    flops = 2 * rows * panels.columns * panels.depth * panels.taps
    wanted = max(1, min(flops // _TASK_FLOPS, -(-TASKS // count)))
    near = panel_count * panel_bytes(panels.depth, panels.taps, panels.parts) <= _NEAR_BYTES
    gathered = BLOCK * panels.taps * chunks_of(panels.depth) * DEPTH * 2 * panels.parts
    height = max(BLOCK, min(GROUP, _SCRATCH_BYTES // gathered * BLOCK, _padded(rows, BLOCK)))
    if near:
        height = max(BLOCK, min(height, rows // wanted // BLOCK * BLOCK))
    groups = -(-rows // height)
    row_chunks = min(groups, wanted)
    least = 1 if isinstance(kernel.rows, DenseRows) else _TASK_PANELS
    panel_chunks = min(max(panel_count // least, 1), -(-wanted // row_chunks))
    words |= {"rows": rows, "columns": panels.columns, "depth": panels.depth, "taps": panels.taps, "height": height, "groups": groups}
    words |= {"panels": panel_count, "row_chunks": row_chunks, "panel_chunks": panel_chunks}
    tasks = count * row_chunks * panel_chunks
    n.job(
        kernel,
        words,
        tasks=tasks,
        written=[written],
        chunk=max(tasks // (4 * TASKS), 1),
        scratch=kernel.scratch_bytes(panels.depth, panels.taps, height),
        flops=flops * count,
        moved_bytes=sum(word.elements * word.item_bytes for word in words.values() if isinstance(word, View)),
    )
