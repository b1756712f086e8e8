"""How products in tiles are cut into tasks: by groups of rows, and by panels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.dialects.core.records import record
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import TASKS
from ttc.runtime.engines.native.kernels.tile_product import BLOCK, GROUP, TileProduct

if TYPE_CHECKING:
    from ttc.runtime.engines.native.kernels.words import Word

_NEAR_BYTES = 1 << 20
"""The most bytes of a right operand that stays in the second-level cache of a CPU with tiles, beside the rows that meet it."""
_SCRATCH_BYTES = 1 << 20
"""The most bytes of the gathered rows of a group, except for the smallest group."""


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
    height = max(BLOCK, min(GROUP, _SCRATCH_BYTES // sizes.block_bytes * BLOCK, -(-sizes.rows // BLOCK) * BLOCK))
    if sizes.is_near:
        height = max(BLOCK, min(height, sizes.rows // wanted // BLOCK * BLOCK))
    row_chunks = min(-(-sizes.rows // height), wanted)
    return TileCut(height, row_chunks, min(max(sizes.panels // least_panels, 1), -(-wanted // row_chunks)))


def submit_tiles(
    n: Lowering, kernel: TileProduct, words: dict[str, Word], sizes: Sizes, cut: TileCut, written: View, scratch: int, flops: int
) -> None:
    """Add the job of a product, given the words that tell where its operands lie.  scratch: bytes that a thread needs."""
    words |= {**sizes.words, "height": cut.height, "groups": -(-sizes.rows // cut.height)}
    words |= {"row_chunks": cut.row_chunks, "panel_chunks": cut.panel_chunks}
    tasks = sizes.count * cut.row_chunks * cut.panel_chunks
    moved = sum(word.elements * word.item_bytes for word in words.values() if isinstance(word, View))
    chunk = max(tasks // (4 * TASKS), 1)
    n.job(kernel, words, tasks=tasks, written=[written], chunk=chunk, scratch=scratch, flops=flops, moved_bytes=moved)
