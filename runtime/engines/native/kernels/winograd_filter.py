"""Filters as Winograd's way multiplies them: transformed, in panels of columns.

w[3, 3, channels, columns] becomes u[panel, point, channel, column of the panel]: each point is the right operand of a matrix product.
A filter that is transformed at each run has a cache line between points that nobody reads: else those of one channel, written together,
would meet in one set of every cache, and the transformation take twice as long.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeVar

from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.graph.tensors import ALIGNMENT
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.packing import transposed
from ttc.runtime.engines.native.kernels.winograd_matrices import TAPS, combined, matrices
from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import LocalVariable, Operand, Value
    from ttc.runtime.engines.native.ir.writer import Writer

Count = TypeVar("Count", int, "Value")
FILTER_STRIDES = ("w_y", "w_x", "w_channel", "w_column")
"""The names of words that tell, in bytes, how far apart the elements of a filter lie along each dimension."""


def point_step(channels: Count, columns: int, *, gap: bool) -> Count:
    """Return the elements from one point of a panel to the next, with a gap between them or without."""
    return channels * columns + (ALIGNMENT // 4 if gap else 0)


def filter_address(f: Writer, words: Words, tap: tuple[Operand, Operand], channel: Value, column: Value) -> Value:
    """Return the address of an element of the filter."""
    y, x = (index * words[name] for index, name in zip(tap, FILTER_STRIDES[:2], strict=True))
    return f.at(words.pointer("w"), y + x + channel * words["w_channel"] + column * words["w_column"], "i8")


@dataclass(frozen=True)
class WinogradFilter(JobKernel):
    """Brings a filter w[3, 3, channels, columns] into panels.

    Args:
        outputs: m.
        columns: of a panel.
        lanes: float32 of a vector, of which a panel has a multiple.
        source: element type of w.
        taps: 0: columns lie one after the other; 1: the taps of a channel and a column do; -1: they do so from the last to the first.
        gap: between points.

    Tasks: a channel each.  Words: `names`; strides in bytes.  peaks: u32 for each channel, the bits of its largest magnitude.
    """

    outputs: int
    columns: int
    lanes: int
    source: Storage
    taps: int
    gap: bool

    names: ClassVar[tuple[str, ...]] = ("w", "u", "channels", "columns", *FILTER_STRIDES, "peaks")

    def emit_job(self, f: Writer, words: Words) -> None:
        with f.loop(f.begin, f.end) as c:
            f.store(f.constant(0, "u32"), f.at(words.pointer("peaks"), c, "u32"))
        with f.loop(0, words["columns"], self.columns) as start, f.loop(f.begin, f.end) as c:
            largest = f.variable(f.constant(0, "u32", self.lanes))
            step = point_step(words["channels"], self.columns, gap=self.gap)
            panel = f.at(words.pointer("u"), start // self.columns * step * len(matrices(self.outputs).g) ** 2, "f32")
            with f.loop(0, self.columns, self.lanes) as v:
                self.emit_vector(f, words, (c, start + v), f.at(panel, c * self.columns + v, "f32"), step, largest)
            peak = f.at(words.pointer("peaks"), c, "u32")
            f.store(f.larger(f.load(peak, "u32"), f.folded("larger", largest.get())), peak)

    def emit_vector(self, f: Writer, words: Words, place: tuple[Value, Value], target: Value, step: Value, largest: LocalVariable) -> None:
        """Write a vector of columns at all points.

        place: channel, column.  target: address at the first point.  step: elements from point to point.  largest: raised to the largest
        bits of a magnitude.
        """
        taps = self._far(f, words, *place) if self.taps == 0 else self._near(f, words, *place)
        for value in taps:
            largest.set(f.larger(largest.get(), f.magnitude(value)))
        matrix = matrices(self.outputs).g
        columns = [combined(f, matrix, taps[j::TAPS]) for j in range(TAPS)]
        for i in range(len(matrix)):
            for j, value in enumerate(combined(f, matrix, [column[i] for column in columns])):
                f.store(value, f.at(target, step * (i * len(matrix) + j), "f32"))

    def _far(self, f: Writer, words: Words, c: Value, column: Value) -> list[Value]:
        """Return a vector of columns at each tap, of taps that lie apart."""
        mask = f.mask(words["columns"] - column, self.lanes)
        taps = [(f.constant(i, "i64"), f.constant(j, "i64")) for i in range(TAPS) for j in range(TAPS)]
        return [f.read(filter_address(f, words, tap, c, column), self.source, self.lanes, mask) for tap in taps]

    def _near(self, f: Writer, words: Words, c: Value, column: Value) -> list[Value]:
        """Return a vector of columns at each tap, of taps that lie side by side: squares are transposed in registers.

        Behind the last column it is repeated.
        """
        count, lanes = TAPS**2, self.lanes
        corner = TAPS - 1 if self.taps < 0 else 0
        first = filter_address(f, words, (f.constant(corner, "i64"), f.constant(corner, "i64")), c, f.constant(0, "i64"))
        last, step = words["columns"] - 1, words["w_column"]
        rows = [f.at(first, f.smaller(column + lane, last) * step, "i8") for lane in range(lanes)]
        mask = f.mask(count, lanes) if lanes > count else None
        found: list[Value] = []
        while len(found) < count:
            start = max(min(len(found), count - lanes), 0)
            square = [f.read(f.at(row, start, self.source), self.source, lanes, mask) for row in rows]
            found += transposed(f, square)[len(found) - start : count - start]
        return found[::-1] if self.taps < 0 else found
