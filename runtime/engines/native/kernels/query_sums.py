"""Sums over tasks of what blocks of keys give to the cotangents of queries, the end of attention's gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.kernels.amx_block import SIZE
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.packing import transposed
from ttc.runtime.engines.native.kernels.words import Words, bases_at, batch_names

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer


@dataclass(frozen=True)
class QuerySums(JobKernel):
    """Sums over chunks of keys, scaled: dq[..., rows, depth] = scale * sum of partial[..., chunk, rows, :], in the order of the chunks.

    Args:
        dq: element type.
        lanes: float32 of a vector.
        group: query rows of a task.
        turned: whether a chunk is [groups, padded depth, group], each group transposed.
        batch: dimensions of the batch.

    Tasks: (element of the batch, group), the latter faster.  Words: `names`; strides in bytes, `step` from chunk to chunk.
    """

    dq: Storage
    lanes: int
    group: int
    turned: bool = False
    batch: int = 0

    TENSORS: ClassVar = ("partial", "dq")

    @property
    def names(self) -> tuple[str, ...]:
        return ("rows", "depth", "chunks", "step", "scale", *self.TENSORS, "partial_row", "dq_row", *batch_names(self.TENSORS, self.batch))

    def emit_job(self, f: Writer, words: Words) -> None:
        rows = words["rows"]
        groups = (rows + (self.group - 1)) // self.group
        with f.loop(f.begin, f.end) as task:
            partial, dq = bases_at(f, words, self.TENSORS, self.batch, task // groups)
            first = task % groups * self.group
            count = f.smaller(rows - first, self.group)
            target = f.at(dq, first * words["dq_row"], "i8")
            if self.turned:
                self._turn(f, words, f.at(partial, first * ((words["depth"] + (SIZE - 1)) // SIZE * SIZE), "f32"), (target, count))
            else:
                self._add(f, words, f.at(partial, first * words["partial_row"], "i8"), (target, count))

    def _add(self, f: Writer, words: Words, source: Value, rows: tuple[Value, Value]) -> None:
        """Sum up the rows of a group.  rows: the first one of the result, and how many there are."""
        target, count = rows
        with f.loop(0, count) as row, f.loop(0, words["depth"], self.lanes) as i:
            found = self._total(f, words, f.at(f.at(source, row * words["partial_row"], "i8"), i, "f32"))
            self._give(f, words, found, (f.at(target, row * words["dq_row"], "i8"), i))

    def _turn(self, f: Writer, words: Words, source: Value, rows: tuple[Value, Value]) -> None:
        """Sum up squares of a group, and turn them.  rows: the first one of the result, and how many there are."""
        target, count = rows
        with f.loop(0, count, self.lanes) as row, f.loop(0, words["depth"], self.lanes) as i:
            lines = [f.at(f.at(source, (i + d) * self.group, "f32"), row, "f32") for d in range(self.lanes)]
            for r, found in enumerate(transposed(f, [self._total(f, words, line) for line in lines])):
                with f.when(row + r < count):
                    self._give(f, words, found, (f.at(target, (row + r) * words["dq_row"], "i8"), i))

    def _total(self, f: Writer, words: Words, place: Value) -> Value:
        """Return a vector, summed up over chunks."""
        total = f.variable(f.constant(0.0, "f32", self.lanes))
        with f.loop(0, words["chunks"]) as chunk:
            total.set(total.get() + f.load(f.at(place, chunk * words["step"], "i8"), "f32", self.lanes))
        return total.get()

    def _give(self, f: Writer, words: Words, found: Value, place: tuple[Value, Value]) -> None:
        """Write a vector of a row, scaled, from an element on."""
        row, i = place
        f.write(found * words.real("scale"), f.at(row, i, self.dq), self.dq, f.mask(words["depth"] - i, self.lanes))
