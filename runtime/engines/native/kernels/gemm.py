"""Matrix products and convolutions: rows of a times packed panels of b, an elementwise region, rows of c.

One family does both: a convolution is a product whose rows consist of several runs of channels (`gemm_rows`), multiplied without ever
being gathered in memory.  The inner loops are those of `gemm_block`.  Each block of sums is put down in the first-level cache and taken
through the region from there, vector by vector, so that the region's code exists once a kernel, whatever the block; short regions are
computed of the sums in registers (5 to 20 percent faster where a row has 16 to 64 channels).

Rows are cut into blocks of equal size, give or take one, so that no block is nearly empty: 49 rows are 9 blocks of 5 or 6.  A task is a
range of blocks times a range of panels.  In a task either loop is the outer one: blocks, where the right operand stays in the second-level
cache; panels, where it does not, so that it comes from memory once, and while one is multiplied the next is fetched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from ttc.runtime.engines.native.graph.region import Region
from ttc.runtime.engines.native.graph.tensors import ALIGNMENT
from ttc.runtime.engines.native.kernels.gemm_block import SPAN, Ahead, Block, Direct, Multiplier, Operands, emit_sums, fetches_panels
from ttc.runtime.engines.native.kernels.gemm_finish import Finish, emit_fetch, emit_row, emit_vector, is_short, masks_are_cheap
from ttc.runtime.engines.native.kernels.gemm_rows import POINTER_BYTES, AddressTable, GemmRows
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.shares import CHUNKS, Count, chunks_of_task, shares_of
from ttc.runtime.engines.native.kernels.words import Words, bases_at, batch_names

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

Where: TypeAlias = "tuple[dict[str, Value], AddressTable, tuple[Value, Value] | None]"
"""Where operands lie: addresses of matrices and rows, and what is fetched of panels: blocks of rows that met this one, bytes a channel of
the next.
"""
_DISTANCE = 4096
"""How many bytes ahead a panel is fetched that one block alone multiplies."""
_SIZES = ("rows", "columns", "depth", "taps", "row_blocks", "panels", *CHUNKS, "panels_outside")


@dataclass(frozen=True)
class Gemm(JobKernel):
    """The kernel of products in float32: c = region(a b, others...), for every element of a batch of matrices.

    Args:
        block: of sums in registers.
        rows: how rows are found.
        region: input 0 is the sum, in float32; the others are elements of further tensors, as wide as the result.
        spread: for each further input, whether a row of it is but one element, for all columns.
        batch: dimensions of the batch.
        multiplier: how elements are multiplied; a and b are float32, or bfloat16 in pairs of channels.
        span: see `Operands`.
        lines: cache lines of panels that are fetched for each channel, where panels are the outer loop.

    Tasks: `chunks_of_task`, the chunks of rows being ranges of row blocks.  Words: `names`; strides are in bytes.
    Scratch: `scratch_bytes`.
    """

    FETCHES: ClassVar[bool] = True
    """Whether panels are fetched on CPUs with vectors of other than 32 bytes, too."""

    block: Block
    rows: GemmRows
    region: Region
    spread: tuple[bool, ...] = ()
    batch: int = 0
    multiplier: Multiplier = "f32"
    span: int = SPAN
    lines: int = 0

    @property
    def channels_a_word(self) -> int:
        """The channels of the left operand in a word of 4 bytes."""
        return 2 if self.multiplier == "bf16" else 1

    @property
    def finish(self) -> Finish:
        """The function of sums before they are stored."""
        return Finish(self.region, self.spread, self.block.columns, self.block.lanes)

    @property
    def others(self) -> tuple[str, ...]:
        """The names of the region's further tensors."""
        return self.finish.others

    @property
    def tensors(self) -> tuple[str, ...]:
        """The names of all tensors that the kernel reads and writes."""
        return ("a", "b", "c", *self.others)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the words of a job.

        They are sizes (`depth`: channels of a tap, in pairs with multiplier bf16), addresses, strides of rows, sizes and
        strides of the batch.
        """
        rows = self.rows.names(("a", "c", *self.others))
        return (*_SIZES, *self.tensors, *rows, *batch_names(self.tensors, self.batch))

    def scratch_bytes(self, depth: int, taps: int) -> int:
        """Return the bytes of scratch memory that one thread needs, given the words of these names."""
        pointers = self.block.rows * POINTER_BYTES
        return self.block.bytes + self.row_words(depth) * 4 + ALIGNMENT + pointers * (1 + len(self.spread) + taps)

    def row_words(self, depth: Count) -> Count:
        """Return the words of 4 bytes of a row of the left operand at a tap, given the word of that name."""
        return depth

    def emit_job(self, f: Writer, words: Words) -> None:
        row_words = self.row_words(words["depth"])
        tile = self.tile(f, words)
        zeros = f.at(tile, self.block.bytes, "i8")
        if self.rows.has_borders:
            with f.loop(0, row_words) as k:
                f.store(f.constant(0.0, "f32"), f.at(zeros, k, "f32"))
        pointers = f.at(zeros, row_words * 4 + ALIGNMENT, "i8")
        tensors = {name: f.at(pointers, i * self.block.rows, "ptr") for i, name in enumerate(("c", *self.others))}
        table = AddressTable(tensors, f.at(pointers, len(tensors) * self.block.rows, "ptr"), zeros, self.block.rows)
        with f.loop(f.begin, f.end) as task:
            self._task(f, words, task, tile, table)

    def _task(self, f: Writer, words: Words, task: Value, tile: Value, table: AddressTable) -> None:
        element, rows, panels = chunks_of_task(words, task)
        first_block, last_block = shares_of(words["row_blocks"], words["row_chunks"]).span(rows)
        first_panel, last_panel = shares_of(words["panels"], words["panel_chunks"]).span(panels)
        blocks = shares_of(words["rows"], words["row_blocks"])
        bases = dict(zip(self.tensors, bases_at(f, words, self.tensors, self.batch, element), strict=True))
        panels_outside = words["panels_outside"].differs(0)
        spans = [last_block - first_block, last_panel - first_panel]
        outer = f.select(panels_outside, spans[1], spans[0])
        inner = f.select(panels_outside, spans[0], spans[1])
        row_blocks, row_bytes = words["row_blocks"], self.block.columns * 4
        step = f.select(panels_outside, (row_blocks + (row_bytes - 1)) // row_blocks, 0) if self.lines else None
        with f.loop(0, outer) as i, f.loop(0, inner) as j:
            block = first_block + f.select(panels_outside, j, i)
            panel = first_panel + f.select(panels_outside, i, j)
            first, end = blocks.span(block)
            with f.when(panels_outside | j.equals(0)):
                self.rows.emit(f, words, bases, (first, end - first), table)
            self.begin_block(f, words, bases, panel, j)
            self._block(f, words, (bases, table, None if step is None else (block, step)), (first, end - first), panel, tile)

    def _block(self, f: Writer, words: Words, where: Where, span: tuple[Value, Value], panel: Value, tile: Value) -> None:
        """One block of c: sums, then the region."""
        (bases, table, turn), (first, count) = where, span
        depth, taps = words["depth"], words["taps"]
        right, ahead = self.right(f, words, bases, panel, turn)
        self._fetch(f, table, count, panel)
        in_memory = f.variable(f.constant(0, "i1"))
        for rows in self.block.counts:
            with f.when(count.equals(rows)):
                operands = Operands(
                    lambda tap, rows=rows: self.rows.left(f, words, bases["a"], first, rows, table, tap),
                    right,
                    taps,
                    depth,
                    ahead,
                    self.span,
                    table.zeros if self.rows.has_borders else None,
                )
                stored = emit_sums(f, self.block, rows, operands, self.multiplier, tile, self._direct(f, words, table, panel))
                with f.when(stored):
                    in_memory.set(stored)
        with f.when(in_memory.get()):
            self._finish(f, words, table, count, panel, tile)

    def tile(self, f: Writer, words: Words) -> Value:
        """Return the address of the sums of a block, and of what follows them in scratch memory."""
        del words
        return f.scratch

    def begin_block(self, f: Writer, words: Words, bases: dict[str, Value], panel: Value, number: Value) -> None:
        """Emit what precedes a block of a task.  number: of the block among those of its panel, where panels are the outer loop."""

    def right(
        self, f: Writer, words: Words, bases: dict[str, Value], panel: Value, turn: tuple[Value, Value] | None
    ) -> tuple[Value, Ahead | None]:
        """Return the address of a panel, and what to fetch while it is multiplied.  turn: see `Where`."""
        depth, taps = words["depth"], words["taps"]
        right = f.at(bases["b"], panel * taps * depth * self.block.columns, "f32")
        if turn is None:
            return right, None
        number, step = turn
        row_bytes = self.block.columns * 4
        distance = taps * depth * (number * step + row_bytes)
        if not fetches_panels(f.cpu):
            distance = f.select(step.equals(row_bytes), _DISTANCE, distance)
        return right, Ahead(f.at(right, distance, "i8"), step, self.lines)

    def _direct(self, f: Writer, words: Words, table: AddressTable, panel: Value) -> Direct | None:
        """Panels of sums go through short regions as they are in registers, of which there must be some left for it.

        Those that are wider than what is left of the columns do so where masks are cheap.
        """
        if not is_short(self.region, narrows=f.cpu.vector_bytes == 64) or f.cpu.vector_bytes < 32:
            return None
        lanes, start = self.block.lanes, panel * self.block.columns
        left = words["columns"] - start
        is_whole = left >= self.block.columns

        def emit(sums: list[list[Value]], masks: Sequence[Value | None]) -> None:
            for r, row in enumerate(sums):
                rows = {name: f.load(f.at(address, r, "ptr"), "ptr") for name, address in table.tensors.items()}
                for v, (total, mask) in enumerate(zip(row, masks, strict=True)):
                    emit_vector(f, self.finish, total, rows, start + v * lanes, lanes, mask)

        def act(sums: list[list[Value]]) -> None:
            vectors = range(self.block.vectors)
            if not masks_are_cheap(f):
                emit(sums, [None for _ in vectors])
                return
            with f.choice(is_whole) as (whole, part):
                with whole:
                    emit(sums, [None for _ in vectors])
                with part:
                    emit(sums, [f.mask(left - v * lanes, lanes) for v in vectors])

        return Direct(f.constant(1, "i1") if masks_are_cheap(f) else is_whole, act)

    def _fetch(self, f: Writer, table: AddressTable, count: Value, panel: Value) -> None:
        """Bring near what the region will read and write, while the sums are computed."""
        with f.loop(0, count) as r:
            rows = {name: f.load(f.at(address, r, "ptr"), "ptr") for name, address in table.tensors.items()}
            emit_fetch(f, self.finish, rows, panel * self.block.columns, 3)

    def _finish(self, f: Writer, words: Words, table: AddressTable, count: Value, panel: Value, tile: Value) -> None:
        """Take the sums in `tile` through the region, and store them."""
        start = panel * self.block.columns
        with f.loop(0, count) as r:
            rows = {name: f.load(f.at(address, r, "ptr"), "ptr") for name, address in table.tensors.items()}
            sums = f.at(tile, r * self.block.columns, "f32")
            emit_row(f, self.finish, sums, rows, (start, words["columns"]))
