"""Reductions along dense rows, and over rows of dense columns.

Sums of float32 are taken in parts of bounded length, whose totals are added in float64 (along rows) or once more in float32 (of columns):
their error does not grow with the number of elements.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from ttc.runtime.engines.native.graph.storage import Storage, array_dtype
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.lines import fold_names, over_columns, over_folds
from ttc.runtime.engines.native.kernels.words import Words, bases_at, batch_names

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import LocalVariable, Value
    from ttc.runtime.engines.native.ir.writer import Writer

Reduction: TypeAlias = Literal["sum", "mean", "max", "min", "prod"]

_UNROLLED = 4
"""Vectors that are reduced side by side."""
_PART = 4096
"""Elements of a part of a row."""
_PART_ROWS = 64
"""Rows of a part of a column."""


@dataclass(frozen=True)
class Reduce(JobKernel):
    """The base of kernels that reduce along rows or columns.

    Args:
        fn: `mean` divides by the word `count`.
        source, target: element types of x and y.
        lead: dimensions of places that y has, in front.
        folds: dimensions that are reduced beside the innermost.

    Words: `names`; strides in bytes.
    """

    fn: Reduction
    source: Storage
    target: Storage
    lead: int
    folds: int

    @property
    def names(self) -> tuple[str, ...]:
        return ("x", "y", *self.sizes, *batch_names(("x", "y"), self.lead), *fold_names(self.folds))

    @property
    @abstractmethod
    def sizes(self) -> tuple[str, ...]:
        """The names of the words that hold sizes."""

    def joined(self, f: Writer, a: Value, b: Value) -> Value:
        """Return two partial results of the reduction, combined into one."""
        return {"max": f.maximum, "min": f.minimum, "prod": lambda a, b: a * b}.get(self.fn, lambda a, b: a + b)(a, b)

    def neutral(self, f: Writer, lanes: int) -> Value:
        """Return the number that changes no partial result of the reduction."""
        from ttc.runtime.engines.native.ir.regions import computed_type

        if self.fn in ("max", "min"):
            return limit(f, self.source, self.fn == "max", lanes)
        return f.constant(int(self.fn == "prod"), computed_type(self.source), lanes)

    def load(self, f: Writer, x: Value, column: Value, lanes: int, mask: Value | None) -> Value:
        """Return elements, neutral ones where there are none."""
        value = f.read(f.at(x, column, self.source), self.source, lanes, mask)
        return value if mask is None else f.select(mask, value, self.neutral(f, lanes))

    def store(self, f: Writer, total: Value, y: Value, count: Value, mask: Value | None = None) -> None:
        """Store a total, or the mean, as y holds it."""
        from ttc.runtime.engines.native.ir.regions import landed

        if self.fn == "mean":
            total = total / f.converted(count, total.type.dtype)
        f.write(landed(f, total, self.target), y, self.target, mask)


@dataclass(frozen=True)
class ReduceRows(Reduce):
    """Computes each y as the total of rows of `length` dense elements, one for each place in the folds. A task is one y."""

    @property
    def sizes(self) -> tuple[str, ...]:
        return ("length", "count")

    def emit_job(self, f: Writer, words: Words) -> None:
        wide = self.fn in ("sum", "mean") and self.neutral(f, 1).type.dtype == "f32"
        zero = f.constant(0.0, "f64") if wide else self.neutral(f, 1)
        total = f.variable(zero)
        parts = [f.variable(self.neutral(f, f.lanes)) for _ in range(_UNROLLED)]
        single = f.variable(self.neutral(f, 1))
        with f.loop(f.begin, f.end) as place:
            x, y = bases_at(f, words, ("x", "y"), self.lead, place)
            total.set(zero)
            length = words["length"]
            with over_folds(f, words, self.folds, x) as row, f.loop(0, length, _PART) as first:
                last = f.smaller(first + _PART, length)
                found = self._part(f, row, (first, last), parts, single)
                total.set(total.get() + f.converted(found, "f64") if wide else self.joined(f, total.get(), found))
            result = total.get()
            if wide and self.fn == "sum":
                result = f.converted(result, "f32")
            self.store(f, result, y, words["count"])

    def _part(self, f: Writer, row: Value, span: tuple[Value, Value], parts: Sequence[LocalVariable], single: LocalVariable) -> Value:
        """Return the total of elements [first, last) of a row."""
        first, last = span
        for part in parts:
            part.set(self.neutral(f, f.lanes))
        step = f.lanes * len(parts)
        whole = first + (last - first) // step * step
        with f.loop(first, whole, step) as column:
            for i, part in enumerate(parts):
                part.set(self.joined(f, part.get(), self.load(f, row, column + i * f.lanes, f.lanes, None)))
        single.set(self.neutral(f, 1))

        def add(column: Value, lanes: int, mask: Value | None) -> None:
            into = single if lanes == 1 else parts[0]
            into.set(self.joined(f, into.get(), self.load(f, row, column, lanes, mask)))

        over_columns(f, whole, last, add)
        values = [part.get() for part in parts]
        while len(values) > 1:
            values = [self.joined(f, a, b) for a, b in zip(values[::2], values[1::2], strict=True)]
        return self.joined(f, folded(f, values[0], lambda a, b: self.joined(f, a, b)), single.get())


@dataclass(frozen=True)
class ReduceColumns(Reduce):
    """Computes each of `columns` dense y as the total of its column in `rows` rows. A task is a place and a piece of columns.

    The rows are those of one dimension, of all places in the folds.
    """

    @property
    def sizes(self) -> tuple[str, ...]:
        return ("rows", "row_step", "columns", "pieces", "piece", "count")

    def emit_job(self, f: Writer, words: Words) -> None:
        pieces, piece, columns = words["pieces"], words["piece"], words["columns"]
        blocks = {n: self._variables(f, n) for n in (_UNROLLED, 1, 0)}
        with f.loop(f.begin, f.end) as task:
            x, y = bases_at(f, words, ("x", "y"), self.lead, task // pieces)
            first = task % pieces * piece
            last = f.smaller(first + piece, columns)

            def block(count: int) -> Callable[[Value, int, Value | None], None]:
                def vector(column: Value, lanes: int, mask: Value | None) -> None:
                    self._block(f, words, (x, y), column, blocks[0 if lanes == 1 else count], mask)

                return vector

            wide = f.lanes * _UNROLLED
            whole = first + (last - first) // wide * wide
            with f.loop(first, whole, wide) as column:
                block(_UNROLLED)(column, f.lanes, None)
            over_columns(f, whole, last, block(1))

    def _variables(self, f: Writer, vectors: int) -> list[tuple[LocalVariable, LocalVariable]]:
        """Totals and totals of a part, of vectors side by side; none stands for one element."""
        lanes = f.lanes if vectors else 1
        return [(f.variable(self.neutral(f, lanes)), f.variable(self.neutral(f, lanes))) for _ in range(max(vectors, 1))]

    def _block(
        self,
        f: Writer,
        words: Words,
        where: tuple[Value, Value],
        column: Value,
        totals: Sequence[tuple[LocalVariable, LocalVariable]],
        mask: Value | None,
    ) -> None:
        """Totals of vectors of columns."""
        x, y = where
        lanes = totals[0][0].type.lanes
        for total, _ in totals:
            total.set(self.neutral(f, lanes))
        rows, step = words["rows"], words["row_step"]
        with over_folds(f, words, self.folds, x) as base, f.loop(0, rows, _PART_ROWS) as first:
            for _, part in totals:
                part.set(self.neutral(f, lanes))
            with f.loop(first, f.smaller(first + _PART_ROWS, rows)) as row:
                line = f.at(base, row * step, "i8")
                for i, (_, part) in enumerate(totals):
                    part.set(self.joined(f, part.get(), self.load(f, line, column + i * lanes, lanes, mask)))
            for total, part in totals:
                total.set(self.joined(f, total.get(), part.get()))
        count = words["count"]
        for i, (total, _) in enumerate(totals):
            self.store(f, total.get(), f.at(y, column + i * lanes, self.target), count, mask)


def limit(f: Writer, storage: Storage, least: bool, lanes: int) -> Value:
    """Return the least, or the largest, number of a storage."""
    from ttc.runtime.engines.native.ir.regions import computed_type

    dtype = array_dtype(storage)
    if computed_type(storage) in ("f32", "f64"):
        return f.constant(float("-inf" if least else "inf"), computed_type(storage), lanes)
    return f.constant(int(np.iinfo(dtype).min if least else np.iinfo(dtype).max), computed_type(storage), lanes)


def folded(f: Writer, vector: Value, join: Callable[[Value, Value], Value]) -> Value:
    """Return all lanes of a vector in one scalar, halves joined pairwise."""
    lanes = vector.type.lanes
    while lanes > 2:
        lanes //= 2
        vector = join(f.shuffled(vector, vector, range(lanes)), f.shuffled(vector, vector, range(lanes, 2 * lanes)))
    return join(f.lane(vector, 0), f.lane(vector, 1))
