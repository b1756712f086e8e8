"""What kernels over lines of strided tensors have in common: where a line begins, and loops along it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.words import Words, bases_at, batch_names

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

Vector: TypeAlias = "Callable[[Value, int, Value | None], None]"
"""Computes what begins at a column: (column, lanes, mask of the lanes that have an element, None if all have)."""


@dataclass(frozen=True)
class Line:
    """A line, or as many neighbouring ones as `lanes`: elements i of x and y, from the addresses of the first ones."""

    f: Writer
    words: Words
    x: Value
    y: Value
    lanes: int
    mask: Value | None

    @property
    def length(self) -> Value:
        return self.words["length"]

    def x_at(self, index: Value) -> Value:
        """Return the address of x[index]."""
        return self.f.at(self.x, index * self.words["x_step"], "i8")

    def y_at(self, index: Value) -> Value:
        """Return the address of y[index]."""
        return self.f.at(self.y, index * self.words["y_step"], "i8")


@dataclass(frozen=True)
class LineKernel(JobKernel):
    """Works on lines along one axis of x and y.

    Args:
        source, target: element types of x and y.
        lead: dimensions of places.
        across: whether neighbouring lines are dense in memory, and are worked on side by side; else each line is dense itself.

    Tasks: (place, piece of columns); columns are neighbouring lines.  Words: `names`; strides in bytes.
    """

    COLUMNS: ClassVar[int] = 64
    """The least columns of a task."""

    source: Storage
    target: Storage
    lead: int
    across: bool

    @property
    def names(self) -> tuple[str, ...]:
        sizes = ("length", "x_step", "y_step", "columns", "pieces", "piece")
        return ("x", "y", *sizes, *batch_names(("x", "y"), self.lead))

    def emit_job(self, f: Writer, words: Words) -> None:
        pieces, piece, columns = words["pieces"], words["piece"], words["columns"]
        with f.loop(f.begin, f.end) as task:
            if self.across:
                x, y = bases_at(f, words, ("x", "y"), self.lead, task // pieces)
                first = task % pieces * piece

                def lines(column: Value, lanes: int, mask: Value | None, x: Value = x, y: Value = y) -> None:
                    self.emit_lines(Line(f, words, f.at(x, column, self.source), f.at(y, column, self.target), lanes, mask))

                over_columns(f, first, f.smaller(first + piece, columns), lines)
            else:
                x, y = bases_at(f, words, ("x", "y"), self.lead, task)
                self.emit_row(f, words, x, y)

    @abstractmethod
    def emit_row(self, f: Writer, words: Words, x: Value, y: Value) -> None:
        """Compute a dense line, lanes along it."""

    @abstractmethod
    def emit_lines(self, line: Line) -> None:
        """Compute neighbouring lines, one in each lane."""


def fold_names(folds: int) -> tuple[str, ...]:
    """Return names of the words of dimensions that are walked inside a task: size, and stride in bytes."""
    return tuple(f"{name}_fold{i}" for i in range(folds) for name in ("size", "step"))


@contextmanager
def over_folds(f: Writer, words: Words, folds: int, base: Value) -> Iterator[Value]:
    """Emit loops over all of these dimensions, and yield the address of a place in them."""
    with ExitStack() as loops:
        for i in range(folds):
            index = loops.enter_context(f.loop(0, words[f"size_fold{i}"]))
            base = f.at(base, index * words[f"step_fold{i}"], "i8")
        yield base


def over_columns(f: Writer, first: Value, last: Value, vector: Vector, lanes: int | None = None) -> None:
    """Cover columns [first, last): whole vectors, then a masked one, or single elements where masks are slow."""
    lanes = lanes or f.lanes
    whole = first + (last - first) // lanes * lanes
    with f.loop(first, whole, lanes) as column:
        vector(column, lanes, None)
    over_rest(f, whole, last, vector)


def over_rest(f: Writer, first: Value, last: Value, vector: Vector) -> None:
    """Process fewer columns than a vector has, masked or one by one."""
    if f.cpu.vector_bytes == 64:
        with f.when(first < last):
            vector(first, f.lanes, f.mask(last - first, f.lanes))
    else:
        with f.loop(first, last) as column:
            vector(column, 1, None)
