"""How products in tiles are cut into tasks: by groups of rows, and by panels; and dense rows into runs of channels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.dialects.core.records import record
from ttc.runtime.engines.native.graph.tensors import Place, View
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import TASKS, is_by_rows
from ttc.runtime.engines.native.kernels.amx_pack import PANEL, chunks_of
from ttc.runtime.engines.native.kernels.tile_product import BLOCK, GROUP, USUAL_GROUP, TileProduct

if TYPE_CHECKING:
    from ttc.runtime.engines.native.kernels.words import Word

_NEAR_BYTES = 1 << 20
"""The most bytes of a right operand that stays in the second-level cache of a CPU with tiles, beside the rows that meet it."""
_CHUNK_PANELS = 3
"""The panels that a thread takes at a time for each block of rows that come in runs, so that these are read seldom."""
_ENOUGH_TASKS = 24
"""So many groups of rows are not divided further by panels that stay near: each group is gathered, or brought into parts, once."""
_SCRATCH_BYTES, _DENSE_SCRATCH_BYTES = 1 << 20, 1 << 22
"""The most bytes of the gathered rows of a group, except for the smallest group; the latter of dense rows, of which few are gathered."""
_MOST_ROOM_BYTES = 1 << 20
"""The most bytes by which memory of rows is made larger, so that whole blocks are read."""
_RUN_BYTES, _WAITING_BYTES = 5 << 17, 1 << 19
"""The most bytes of a run of channels of the dense rows of a group, and of the sums that wait for the next run: both stay in the
second-level cache.
"""


@record
class Sizes:
    """The sizes of a product of which one operand is packed.

    Args:
        rows: of the left operand, for one element of a batch.
        columns, depth, taps: of the right operand; channels of a tap.
        panels: of one matrix.
        panel_bytes: of one of them.
        block_bytes: of the gathered rows of a block.
        count: elements of the batch.
    """

    rows: int
    columns: int
    depth: int
    taps: int
    panels: int
    panel_bytes: int
    block_bytes: int
    count: int = 1

    @property
    def is_near(self) -> bool:
        """Whether the right operand stays in the second-level cache."""
        return self.panels * self.panel_bytes <= _NEAR_BYTES

    def wanted_tasks(self, least_flops: int) -> int:
        """Return how many tasks of so many FLOPs an element of the batch is worth, if there are several."""
        flops = 2 * self.rows * self.columns * self.depth * self.taps
        return max(1, min(flops // least_flops, -(-TASKS // self.count)))

    @property
    def words(self) -> dict[str, Word]:
        """The words of a job that tell the sizes."""
        return {"rows": self.rows, "columns": self.columns, "depth": self.depth, "taps": self.taps, "panels": self.panels}


@record
class TileCut:
    """How a product is cut into tasks.

    Args:
        height: rows of a group.
        row_chunks, panel_chunks: parts into which groups and panels are divided.
    """

    height: int
    row_chunks: int
    panel_chunks: int


def cut_rows(sizes: Sizes, least_flops: int, least_panels: int) -> TileCut:
    """Cut a product of dense or gathered rows.  least_flops, least_panels: of a task, if there are several."""
    wanted = sizes.wanted_tasks(least_flops)
    height = max(BLOCK, min(USUAL_GROUP, _SCRATCH_BYTES // sizes.block_bytes * BLOCK, -(-sizes.rows // BLOCK) * BLOCK))
    return _cut(sizes, height, wanted, least_panels)


def cut_dense(sizes: Sizes, least_flops: int, gathers: bool) -> TileCut:
    """Cut a product of dense rows, whose channels may come in runs.

    least_flops: of a task, if there are several.  gathers: whether rows of a group may be gathered.
    """
    most = USUAL_GROUP if sizes.is_near else GROUP
    if gathers:
        most = max(BLOCK, min(most, _DENSE_SCRATCH_BYTES // sizes.block_bytes * BLOCK))
    height = -(-sizes.rows // -(-sizes.rows // most))
    return _cut(sizes, -(-height // BLOCK) * BLOCK, sizes.wanted_tasks(least_flops), 1)


def _cut(sizes: Sizes, height: int, wanted: int, least_panels: int) -> TileCut:
    """Cut a product into so many tasks, if there is enough of it.  height: of a group at most."""
    if sizes.is_near:
        height = max(BLOCK, min(height, sizes.rows // wanted // BLOCK * BLOCK))
    row_chunks = min(-(-sizes.rows // height), wanted)
    if sizes.is_near and row_chunks >= _ENOUGH_TASKS:
        return TileCut(height, row_chunks, 1)
    return TileCut(height, row_chunks, min(max(sizes.panels // least_panels, 1), -(-wanted // row_chunks)))


def runs_of(sizes: Sizes, cut: TileCut) -> dict[str, int]:
    """Return the words `run` and `span` of dense rows (see `kernels.amx_gemm`); none where the channels of a group are one run."""
    runs = -(-cut.height // BLOCK * sizes.block_bytes // _RUN_BYTES)
    if runs < 2:
        return {}
    return {"run": -(-chunks_of(sizes.depth) // runs), "span": min(sizes.panels, max(_WAITING_BYTES // (cut.height * PANEL * 4), 1))}


def make_room(view: View, room_bytes: int) -> bool:
    """Return whether so many bytes behind the last element of a view can be read, in memory that is made larger for them."""
    if view.buffer.place is not Place.ARENA or min(view.strides) < 0 or room_bytes > _MOST_ROOM_BYTES:
        return False
    last = view.offset + sum((size - 1) * stride for size, stride in zip(view.shape, view.strides, strict=True))
    view.buffer.size_bytes = max(view.buffer.size_bytes, (last + 1) * view.item_bytes + room_bytes)
    return True


def submit_tiles(
    n: Lowering, kernel: TileProduct, words: dict[str, Word], sizes: Sizes, cut: TileCut, written: View, scratch: int, flops: int
) -> None:
    """Add the job of a product, given the words that tell where its operands lie.  scratch: bytes that a thread needs."""
    words |= {**sizes.words, "height": cut.height, "groups": -(-sizes.rows // cut.height)}
    moved = sum(word.distinct_bytes for word in words.values() if isinstance(word, View))
    right = sizes.panels * sizes.panel_bytes * sizes.count
    words |= {"row_chunks": cut.row_chunks, "panel_chunks": cut.panel_chunks, "by_rows": 1 if "run" in words else is_by_rows(right, moved)}
    tasks = sizes.count * cut.row_chunks * cut.panel_chunks
    chunk = max(tasks // (4 * TASKS), _CHUNK_PANELS * cut.height // (BLOCK * -(-sizes.panels // cut.panel_chunks)) if "run" in words else 1)
    n.job(kernel, words, tasks=tasks, written=[written], chunk=chunk, scratch=scratch, flops=flops, moved_bytes=moved)
