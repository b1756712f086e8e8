"""Elementwise regions over strided, broadcast operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.region import Region
from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.lines import over_columns
from ttc.runtime.engines.native.kernels.words import Words, bases_at, batch_names

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

SHARES = ("row_blocks", "rows_of_block", "pieces", "piece")
"""The names of words that tell how rows and columns are cut into tasks."""
_SIZES = ("rows", "columns", *SHARES)


@dataclass(frozen=True)
class Eltwise(JobKernel):
    """Computes y = region(x0, x1, ...), element by element.

    Args:
        region: its inputs are the operands.
        spread: for each operand, whether a row of it is but one element, for all columns; other rows are dense, as those of y are.
        lead: dimensions in front of rows and columns.

    Tasks: (place in the leading dimensions, block of rows, piece of columns), the last one fastest.  Words: `names`; strides are in bytes.
    """

    region: Region
    spread: tuple[bool, ...]
    lead: int = 0

    @property
    def tensors(self) -> tuple[str, ...]:
        """The names of the tensors: the result, then inputs."""
        return ("y", *(f"x{i}" for i in range(len(self.spread))))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the words of a job: sizes, addresses, strides of rows, sizes and strides of the leading dimensions."""
        return (*_SIZES, *self.tensors, *(f"{name}_row" for name in self.tensors), *batch_names(self.tensors, self.lead))

    @property
    def storages(self) -> tuple[Storage, ...]:
        """The storages of the tensors: the result, then inputs."""
        return (self.region.storage, *self.region.inputs)

    def emit_job(self, f: Writer, words: Words) -> None:
        with f.loop(f.begin, f.end) as task:
            self.emit_task(f, words, task)

    def emit_task(self, f: Writer, words: Words, task: Value) -> None:
        """Compute the elements of one task."""
        row_blocks, pieces = words["row_blocks"], words["pieces"]
        bases = bases_at(f, words, self.tensors, self.lead, task // pieces // row_blocks)
        rows_of_block, piece = words["rows_of_block"], words["piece"]
        first_row, first = task // pieces % row_blocks * rows_of_block, task % pieces * piece
        last_row = f.smaller(first_row + rows_of_block, words["rows"])
        last = f.smaller(first + piece, words["columns"])
        with f.loop(first_row, last_row) as row:
            lines = [f.at(base, row * words[f"{name}_row"], "i8") for base, name in zip(bases, self.tensors, strict=True)]
            self._row(f, lines, first, last)

    def _row(self, f: Writer, lines: Sequence[Value], first: Value, last: Value) -> None:
        """Columns [first, last) of a row."""
        y, *xs = lines
        known = [f.read(x, s) if spread else None for x, s, spread in zip(xs, self.region.inputs, self.spread, strict=True)]

        def vector(column: Value, lanes: int, mask: Value | None) -> None:
            from ttc.runtime.engines.native.ir.regions import emit_region

            values = [
                f.read(f.at(x, column, s), s, lanes, mask) if one is None else f.spread(one, lanes)
                for x, s, one in zip(xs, self.region.inputs, known, strict=True)
            ]
            f.write(emit_region(f, self.region, values), f.at(y, column, self.region.storage), self.region.storage, mask)

        over_columns(f, first, last, vector)
