"""Packs right operands of matrix products: from rows or columns of a matrix to panels.

A panel holds `columns` columns: for each channel k one row of them, the last panel filled up with zeros; with multiplier `bf16`, for each
pair of channels a row of pairs.  Weights are packed once, at load, activations at each run.  Both orders of the source are read at the
speed of memory: rows in blocks of `ROWS` of them, panel by panel, so that each store of a block is one run; columns by transposing square
tiles in registers.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.storage import STORAGE_BYTES, Storage
from ttc.runtime.engines.native.kernels.gemm_block import Multiplier
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.operands import TENSORS
from ttc.runtime.engines.native.kernels.words import Words, bases_at, batch_names

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

ROWS = 32
"""The channels of a task of `PackRows`: in as many rows, one page each, at least one run of a panel is read."""


@dataclass(frozen=True)
class Packing(JobKernel):
    """The base of kernels that pack right operands.

    Args:
        columns: of a panel; a multiple of `lanes`.
        lanes: float32 of a vector.
        source: element type: f32, bf16 or f16.
        multiplier: what the panels are for; bf16 needs an even number of channels.
        batch: dimensions of the batch.

    Words: `names`; strides in bytes.  `line`: from one row (PackRows) or column (PackColumns) of the source to the next, whose elements
    lie one after the other.
    """

    columns: int
    lanes: int
    source: Storage
    multiplier: Multiplier = "f32"
    batch: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        return (*TENSORS, "depth", "columns", "line", "tasks", *batch_names(TENSORS, self.batch))

    def emit_job(self, f: Writer, words: Words) -> None:
        with f.loop(f.begin, f.end) as task:
            per_element = words["tasks"]
            element = task // per_element
            source, target = bases_at(f, words, TENSORS, self.batch, element)
            self.emit_task(f, words, task % per_element, source, target)

    @abstractmethod
    def emit_task(self, f: Writer, words: Mapping[str, Value] | Words, task: Value, source: Value, target: Value) -> None:
        """Pack one task's part of one element of the batch."""

    @abstractmethod
    def emit_panel(self, f: Writer, words: Mapping[str, Value] | Words, panel: Value, source: Value, target: Value) -> None:
        """Pack one panel of one element of the batch, all of its channels.  target: where that panel lies."""

    @abstractmethod
    def ahead(self, f: Writer, words: Mapping[str, Value] | Words, panel: Value, source: Value, turn: Value) -> tuple[Value, Value]:
        """Return what to fetch of a panel's source while others are multiplied: its first address, and bytes a channel.

        turn: counts blocks of rows that are multiplied meanwhile, each of which fetches another part, or nothing new.
        """

    def store(self, f: Writer, rows: list[Value], target: Value, first: Value) -> None:
        """Store vectors of neighbouring channels, from channel `first` on.  target: address of the panel's vector for channel 0."""
        if self.multiplier == "f32":
            for r, row in enumerate(rows):
                f.store(row, f.at(target, (first + r) * self.columns, "f32"))
            return
        halves = [f.converted(f.bits(f.narrowed(row, "bf16"), "u16"), "u32") for row in rows]
        for r in range(0, len(rows), 2):
            pair = halves[r] | (halves[r + 1] << 16)
            f.store(pair, f.at(target, (first + r) // 2 * self.columns, "u32"))

    @property
    def step(self) -> int:
        """The least number of channels that are stored together."""
        return 1 if self.multiplier == "f32" else 2


@dataclass(frozen=True)
class PackRows(Packing):
    """Packs rows: b[k, n] with n running fastest. A task is `ROWS` channels of all panels."""

    def emit_task(
        self, f: Writer, words: Mapping[str, Value] | Words, task: Value, source: Value, target: Value, there: Value | None = None
    ) -> None:
        """Pack one task's part of one element of the batch.  there: channels that exist, at most `depth`; zeros stand for the others."""
        depth, columns, line = (words[name] for name in ("depth", "columns", "line"))
        there = depth if there is None else there
        first = task * ROWS
        last = f.smaller(first + ROWS, depth)
        with f.loop(0, columns, self.columns) as start:
            panel = f.at(target, start * depth * (4 // self.step), "i8")
            self._rows(f, (columns, line, there), (first, last), start, source, panel)

    def emit_panel(self, f: Writer, words: Mapping[str, Value] | Words, panel: Value, source: Value, target: Value) -> None:
        depth, columns, line = (words[name] for name in ("depth", "columns", "line"))
        self._rows(f, (columns, line, depth), (f.constant(0, "i64"), depth), panel * self.columns, source, target)

    def ahead(self, f: Writer, words: Mapping[str, Value] | Words, panel: Value, source: Value, turn: Value) -> tuple[Value, Value]:
        start = f.at(source, panel * (self.columns * STORAGE_BYTES[self.source]), "i8")
        return start, f.select(turn.equals(0), words["line"], 0)

    def _rows(
        self, f: Writer, shape: tuple[Value, Value, Value], span: tuple[Value, Value], start: Value, source: Value, panel: Value
    ) -> None:
        """Channels of a panel.  shape: columns, bytes from row to row, channels that exist.  start: first column of the panel."""
        (columns, line, there), (first, last) = shape, span
        with f.choice((columns - start >= self.columns) & (last <= there)) as (whole, part):
            with whole, f.loop(first, last, self.step) as k:
                rows = [f.at(f.at(source, (k + r) * line, "i8"), start, self.source) for r in range(self.step)]
                for v in range(0, self.columns, self.lanes):
                    self.store(f, [f.read(f.at(row, v, self.source), self.source, self.lanes) for row in rows], f.at(panel, v, "f32"), k)
            with part, f.loop(first, last, self.step) as k, f.loop(0, self.columns, self.lanes) as v:
                left = columns - start - v
                rows = [f.at(f.at(source, (k + r) * line, "i8"), start + v, self.source) for r in range(self.step)]
                masks = [f.mask(f.select(there > k + r, left, 0), self.lanes) for r in range(self.step)]
                found = [f.read(row, self.source, self.lanes, mask) for row, mask in zip(rows, masks, strict=True)]
                self.store(f, found, f.at(panel, v, "f32"), k)


@dataclass(frozen=True)
class PackColumns(Packing):
    """Packs columns: b[k, n] with k running fastest. A task is a panel."""

    def emit_task(
        self, f: Writer, words: Mapping[str, Value] | Words, task: Value, source: Value, target: Value, there: Value | None = None
    ) -> None:
        """Pack one task's part of one element of the batch.  there: channels that exist, at most `depth`; zeros stand for the others."""
        place = f.at(target, task * self.columns * words["depth"] * (4 // self.step), "i8")
        self._panel(f, words, task, source, place, words["depth"] if there is None else there)

    def ahead(self, f: Writer, words: Mapping[str, Value] | Words, panel: Value, source: Value, turn: Value) -> tuple[Value, Value]:
        column = f.smaller(turn, self.columns - 1)
        start = f.at(source, (panel * self.columns + column) * words["line"], "i8")
        return start, f.select(turn < self.columns, f.constant(STORAGE_BYTES[self.source], "i64"), 0)

    def emit_panel(self, f: Writer, words: Mapping[str, Value] | Words, panel: Value, source: Value, target: Value) -> None:
        self._panel(f, words, panel, source, target, words["depth"])

    def _panel(self, f: Writer, words: Mapping[str, Value] | Words, panel: Value, source: Value, target: Value, there: Value) -> None:
        """Pack one panel of one element of the batch.  there: channels that exist."""
        depth, columns, line = (words[name] for name in ("depth", "columns", "line"))
        whole_depth = there // self.lanes * self.lanes
        with f.loop(0, self.columns, self.lanes) as v:
            start = panel * self.columns + v
            place, left = f.at(target, v, "f32"), columns - start
            tile = f.at(source, start * line, "i8")
            with f.choice(left >= self.lanes) as (whole, part):
                with whole:
                    with f.loop(0, whole_depth, self.lanes) as k:
                        rows = [
                            f.read(f.at(f.at(tile, line * r, "i8"), k, self.source), self.source, self.lanes) for r in range(self.lanes)
                        ]
                        self.store(f, transposed(f, rows), place, k)
                    self._edge(f, tile, (line, left, there), (whole_depth, depth), place)
                with part:
                    self._edge(f, tile, (line, left, there), (f.constant(0, "i64"), depth), place)

    def _edge(self, f: Writer, tile: Value, shape: tuple[Value, Value, Value], span: tuple[Value, Value], place: Value) -> None:
        """A tile of fewer columns or channels, one vector of channels of each column at a time.  shape: bytes from column to column,
        columns and channels that exist.
        """
        (line, left, there), (first, last) = shape, span
        never = f.constant(0, "i64")
        with f.loop(first, last, self.lanes) as k:
            count = f.smaller(last - k, self.lanes)
            rows: list[Value] = []
            for r in range(self.lanes):
                inside = f.select(left > r, there - k, never)
                address = f.at(f.at(tile, line * r, "i8"), k, self.source)
                rows.append(f.read(address, self.source, self.lanes, f.mask(inside, self.lanes)))
            found = transposed(f, rows)
            for r in range(0, self.lanes, self.step):
                with f.when(count > r):
                    self.store(f, found[r : r + self.step], place, k + r)


def transposed(f: Writer, rows: list[Value]) -> list[Value]:
    """Return a square of vectors, transposed, in log2 rounds, each of one instruction a row.

    First blocks are exchanged between rows, down to 4 by 4 elements; these, of 32 bits, lie within 16 bytes, where vectors of 32 and 64
    bytes shuffle at once.
    """
    lanes = len(rows)
    size = lanes // 2
    while size >= 4 or size == 1 == lanes // 2:
        low = [i + (lanes - size if i & size else 0) for i in range(lanes)]
        high = [i + size for i in low]
        rows = [f.shuffled(rows[i & ~size], rows[i | size], high if i & size else low) for i in range(lanes)]
        size //= 2
    return rows if lanes < 4 else [row for i in range(0, lanes, 4) for row in _transposed_blocks(f, rows[i : i + 4])]


def _transposed_blocks(f: Writer, rows: list[Value]) -> list[Value]:
    """Four vectors, in which all blocks of 4 by 4 elements are transposed."""
    lanes = rows[0].type.lanes

    def shuffle(x: Value, y: Value, order: tuple[int, ...]) -> Value:
        """Four elements for each block, numbered as if those of y followed those of x."""
        return f.shuffled(x, y, [block + i % 4 + (lanes if i >= 4 else 0) for block in range(0, lanes, 4) for i in order])

    one, two, three, four = rows
    pairs = [shuffle(x, y, order) for x, y in ((one, two), (three, four)) for order in ((0, 4, 1, 5), (2, 6, 3, 7))]
    return [shuffle(pairs[i], pairs[i + 2], order) for i in (0, 1) for order in ((0, 1, 4, 5), (2, 3, 6, 7))]
