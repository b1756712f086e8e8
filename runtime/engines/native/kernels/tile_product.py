"""What kernels of products in tiles of AMX have in common: blocks and groups of rows, the words of a job, and what a task computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ttc.runtime.engines.native.graph.region import Region
from ttc.runtime.engines.native.kernels.amx_pack import PANEL
from ttc.runtime.engines.native.kernels.gemm_finish import Finish
from ttc.runtime.engines.native.kernels.gemm_rows import GemmRows
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.shares import CHUNKS, chunks_of_task, shares_of
from ttc.runtime.engines.native.kernels.words import Words, bases_at, batch_names

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

BLOCK = 32
"""The rows of a block of the result: two tiles.  Where the last block has no more than one, the second is not computed."""
GROUP = 256
"""The most rows of a group: `height` of a job, a multiple of BLOCK."""
USUAL_GROUP = 128
"""The rows of a group of which there are several: while they meet a panel, the next is fetched."""


@dataclass(frozen=True)
class ProductTask:
    """What a task of a product computes: addresses of tensors, the first group and panel, and those behind the last ones."""

    bases: dict[str, Value]
    groups: tuple[Value, Value]
    panels: tuple[Value, Value]


class TileProduct(JobKernel):
    """c = region(a b, others...), for every element of a batch of matrices; the base of kernels, which have these fields:

    rows: how rows are found.  region, spread, batch: as `gemm.Gemm` has them.

    Tasks: `chunks_of_task`, the chunks of rows being ranges of groups.
    """

    SIZES: ClassVar[tuple[str, ...]] = ("rows", "columns", "depth", "taps", "height", "groups", "panels", *CHUNKS)
    rows: GemmRows
    region: Region
    spread: tuple[bool, ...]
    batch: int

    @property
    def others(self) -> tuple[str, ...]:
        """The names of the region's further tensors."""
        return Finish(self.region, self.spread, PANEL, 1).others

    @property
    def tensors(self) -> tuple[str, ...]:
        """The names of all tensors that the kernel reads and writes."""
        return ("a", "b", "c", *self.others)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the words of a job: sizes, addresses, strides of rows, sizes and strides of the batch."""
        return (*self.SIZES, *self.tensors, *self.rows.names(("a", "c", *self.others)), *batch_names(self.tensors, self.batch))

    def task(self, f: Writer, words: Words, number: Value) -> ProductTask:
        """Return what the task of a number computes."""
        element, rows, columns = chunks_of_task(words, number)
        groups = shares_of(words["groups"], words["row_chunks"]).span(rows)
        panels = shares_of(words["panels"], words["panel_chunks"]).span(columns)
        bases = bases_at(f, words, self.tensors, self.batch, element)
        return ProductTask(dict(zip(self.tensors, bases, strict=True)), groups, panels)
