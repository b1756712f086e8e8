"""Kernels that move elements of one strided tensor into another.

All walk a batch of matrices.  What differs is how the columns of a matrix lie: `CopyRows`, one after the other in both tensors; `Repeat`,
the same element again and again; `Transpose`, rows one after the other in the source and columns in the target; `Interleave`, `Separate`,
the same with few rows or columns, all of them next to each other; `CopyElements`, anyhow.  Where the end of a row is no whole vector, a
last one lies over the one before.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ttc.runtime.engines.native.graph.storage import STORAGE_BYTES, Storage
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.packing import transposed
from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

DIMENSION = ("", "_source", "_target")
"""The ends of the names of a dimension's words: its size, and strides in elements of source and target."""


@dataclass(frozen=True)
class Matrix:
    """A part of a matrix: addresses in both tensors, sizes, and strides in elements."""

    source: Value
    target: Value
    rows: Value
    columns: Value
    steps: tuple[Value, Value]
    """Strides of the source: from row to row, from column to column."""
    places: tuple[Value, Value]
    """Strides of the target: from row to row, from column to column."""


@dataclass(frozen=True)
class Movement(JobKernel):
    """Moves elements: y[i..., r, c] = x[i..., r, c].

    Args:
        source, target: element types; a number is converted, or moved as it is where they are the same.
        batch: dimensions of the batch, the slowest first.
        lanes: elements of a vector; at most as many as the dimensions that vectors lie along, in each part of them, hold.

    Tasks: (element of the batch, part of the rows, part of the columns), the last one fastest.  Words: `names`.
    """

    source: Storage
    target: Storage
    batch: int
    lanes: int

    @property
    def names(self) -> tuple[str, ...]:
        dims = ("row", "column", *(f"batch{i}" for i in range(self.batch)))
        return ("source", "target", "row_parts", "column_parts", *(f"{dim}{what}" for dim in dims for what in DIMENSION))

    def emit_job(self, f: Writer, words: Words) -> None:
        """Emit the loop over parts of matrices; see `JobKernel.emit_job`."""
        with f.loop(f.begin, f.end) as task:
            part, rest = task % words["column_parts"], task // words["column_parts"]
            row, rest = rest % words["row_parts"], rest // words["row_parts"]
            first, last = _share(words, "row", row)
            start, end = _share(words, "column", part)
            source = words.pointer("source")
            target = words.pointer("target")
            offsets = [first * words[f"row_{tensor}"] + start * words[f"column_{tensor}"] for tensor in ("source", "target")]
            for i in reversed(range(self.batch)):
                size = words[f"batch{i}"]
                index, rest = rest % size, rest // size
                offsets = [offset + index * words[f"batch{i}_{t}"] for offset, t in zip(offsets, ("source", "target"), strict=True)]
            self.emit_part(f, Matrix(
                f.at(source, offsets[0], self.source), f.at(target, offsets[1], self.target), last - first, end - start,
                (words["row_source"], words["column_source"]), (words["row_target"], words["column_target"]),
            ))  # fmt: skip

    @abstractmethod
    def emit_part(self, f: Writer, m: Matrix) -> None:
        """Move a part of a matrix."""

    @property
    def raw(self) -> bool:
        """Whether elements are moved without being converted."""
        return self.source == self.target

    def get(self, f: Writer, pointer: Value, lanes: int = 1) -> Value:
        """Return elements of the source, in its storage or as numbers."""
        return f.load(pointer, _word(self.source), lanes) if self.raw else f.read(pointer, self.source, lanes)

    def put(self, f: Writer, value: Value, pointer: Value) -> None:
        """Write elements of the target, converted if need be."""
        if self.raw:
            f.store(value, pointer)
        else:
            f.write(value, pointer, self.target)


@dataclass(frozen=True)
class CopyRows(Movement):
    """Moves columns that lie one after the other in both tensors."""

    UNROLLED: ClassVar[int] = 4

    def emit_part(self, f: Writer, m: Matrix) -> None:
        step = self.UNROLLED * self.lanes
        whole = m.columns - m.columns % step
        with f.loop(0, m.rows) as r:
            x, y = f.at(m.source, r * m.steps[0], self.source), f.at(m.target, r * m.places[0], self.target)
            with f.loop(0, whole, step) as c:
                values = [self.get(f, f.at(x, c + i * self.lanes, self.source), self.lanes) for i in range(self.UNROLLED)]
                for i, value in enumerate(values):
                    self.put(f, value, f.at(y, c + i * self.lanes, self.target))
            with f.loop(whole, m.columns, self.lanes) as start:
                c = f.smaller(start, m.columns - self.lanes)
                self.put(f, self.get(f, f.at(x, c, self.source), self.lanes), f.at(y, c, self.target))


@dataclass(frozen=True)
class Repeat(Movement):
    """Spreads columns that are the same element in the source, and lie one after the other in the target."""

    def emit_part(self, f: Writer, m: Matrix) -> None:
        with f.loop(0, m.rows) as r:
            y = f.at(m.target, r * m.places[0], self.target)
            value = f.spread(self.get(f, f.at(m.source, r * m.steps[0], self.source)), self.lanes)
            with f.loop(0, m.columns, self.lanes) as start:
                self.put(f, value, f.at(y, f.smaller(start, m.columns - self.lanes), self.target))


@dataclass(frozen=True)
class Transpose(Movement):
    """Moves rows that lie one after the other in the source, to columns one after the other in the target: squares of `lanes`, in
    registers.
    """

    def emit_part(self, f: Writer, m: Matrix) -> None:
        lanes = self.lanes
        with f.loop(0, m.rows, lanes) as row, f.loop(0, m.columns, lanes) as column:
            r, c = f.smaller(row, m.rows - lanes), f.smaller(column, m.columns - lanes)
            x = f.at(m.source, c * m.steps[1] + r, self.source)
            y = f.at(m.target, r * m.places[0] + c, self.target)
            found = [self.get(f, f.at(x, m.steps[1] * i, self.source), lanes) for i in range(lanes)]
            for i, value in enumerate(transposed(f, found)):
                self.put(f, value, f.at(y, m.places[0] * i, self.target))


@dataclass(frozen=True)
class Interleave(Movement):
    """Writes `few` columns, one after the other in the target, then zeros up to `pitch`: pixels with few channels from planes.

    Rows lie one after the other in both tensors.
    """

    few: int
    pitch: int

    def emit_part(self, f: Writer, m: Matrix) -> None:
        lanes, few, pitch = self.lanes, self.few, self.pitch
        with f.loop(0, m.rows, lanes) as start:
            r = f.smaller(start, m.rows - lanes)
            planes = [self.get(f, f.at(m.source, m.steps[1] * i + r, self.source), lanes) for i in range(few)]
            planes.append(f.constant(0, planes[0].type.dtype, lanes))
            for j in range(pitch):
                wanted = [divmod(j * lanes + lane, pitch) for lane in range(lanes)]
                value = _gathered(f, planes, [(min(channel, few), pixel) for pixel, channel in wanted])
                self.put(f, value, f.at(m.target, r * pitch + j * lanes, self.target))


@dataclass(frozen=True)
class Separate(Movement):
    """Moves `few` rows, one after the other in the source, with columns one after the other in both: planes from pixels with few
    channels.
    """

    few: int

    def emit_part(self, f: Writer, m: Matrix) -> None:
        lanes, few = self.lanes, self.few
        with f.loop(0, m.columns, lanes) as start:
            c = f.smaller(start, m.columns - lanes)
            found = [self.get(f, f.at(m.source, c * few + i * lanes, self.source), lanes) for i in range(few)]
            for j in range(few):
                value = _gathered(f, found, [divmod(pixel * few + j, lanes) for pixel in range(lanes)])
                self.put(f, value, f.at(m.target, m.places[0] * j + c, self.target))


@dataclass(frozen=True)
class CopyElements(Movement):
    """Copies columns at any strides, element by element."""

    def emit_part(self, f: Writer, m: Matrix) -> None:
        with f.loop(0, m.rows) as r:
            x, y = f.at(m.source, r * m.steps[0], self.source), f.at(m.target, r * m.places[0], self.target)
            with f.loop(0, m.columns) as c:
                self.put(f, self.get(f, f.at(x, c * m.steps[1], self.source)), f.at(y, c * m.places[1], self.target))


def _share(words: Words, dim: str, part: Value) -> tuple[Value, Value]:
    size, parts = words[dim], words[f"{dim}_parts"]
    return part * size // parts, (part + 1) * size // parts


def _word(storage: Storage) -> Storage:
    """Return an unsigned integer of the size of an element: any pattern moves unchanged."""
    found: dict[int, Storage] = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}
    return found[STORAGE_BYTES[storage]]


def _gathered(f: Writer, vectors: list[Value], wanted: list[tuple[int, int]]) -> Value:
    """Return the lanes (number of the vector, lane) in their order."""
    lanes = len(wanted)
    found = vectors[0]
    for number, vector in enumerate(vectors):
        if all(n != number for n, _ in wanted):
            continue
        order = [lane + lanes if n == number else i for i, (n, lane) in enumerate(wanted)]
        found = f.shuffled(found, vector, order)
    return found
