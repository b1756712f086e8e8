"""Operands of matrix products in tiles: rows and panels of parts (see `amx_parts`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.kernel import Kernel
from ttc.runtime.engines.native.kernels.amx_parts import DEPTH, HEADER_BYTES, LANES, magnitude, mark, split
from ttc.runtime.engines.native.kernels.words import Words
from ttc.runtime.engines.native.storage import STORAGE_BYTES, Storage

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

PANEL = 32
"""Columns: two tiles side by side."""
TILE_BYTES = 1024


def chunks_of(depth: int) -> int:
    """Tiles that hold so many channels."""
    return -(-depth // DEPTH)


def row_bytes(depth: int, parts: int) -> int:
    """Of a row of parts."""
    return HEADER_BYTES + parts * chunks_of(depth) * DEPTH * 2


def panel_bytes(depth: int, taps: int, parts: int) -> int:
    """Of a panel, for so many taps of so many channels each."""
    return HEADER_BYTES + taps * chunks_of(depth) * parts * 2 * TILE_BYTES


@dataclass(frozen=True)
class SplitRows(Kernel):
    """Rows of channels in parts: a mark, then all channels' first parts, all second ones...; each filled up with zeros to whole tiles.

    Args:
        source: element type: f32, bf16 or f16.
        parts: 2 or 3.
        batch: dimensions that number the rows.

    A task: a row.  Words: `names`; strides in bytes.
    """

    source: Storage
    parts: int
    batch: int

    @property
    def names(self) -> tuple[str, ...]:
        """Of the words of a job."""
        return ("source", "target", "depth", *(f"{name}{i}" for i in range(self.batch) for name in ("size", "source", "target")))

    def emit(self, f: Writer) -> None:
        words = Words(f, self.names)
        depth = words["depth"]
        chunks = (depth + (DEPTH - 1)) // DEPTH
        with f.loop(f.begin, f.end) as task:
            source, target, rest = words.pointer("source"), words.pointer("target"), task
            for i in reversed(range(self.batch)):
                size = words[f"size{i}"]
                index, rest = rest % size, rest // size
                source = f.at(source, index * words[f"source{i}"], "i8")
                target = f.at(target, index * words[f"target{i}"], "i8")
            largest = f.variable(f.constant(0, "u32", LANES))
            with f.loop(0, depth, LANES) as k:
                largest.set(f.larger(largest.get(), magnitude(f, self._read(f, source, k, depth))))
            marked = mark(f, largest.get())
            f.store(marked, target)
            raw = marked.differs(0)
            with f.loop(0, chunks * DEPTH, LANES) as k:
                for p, part in enumerate(split(f, self._read(f, source, k, depth), self.parts, raw)):
                    f.store(part, f.at(target, (chunks * (p * DEPTH) + k) * 2 + HEADER_BYTES, "i8"))

    def _read(self, f: Writer, row: Value, k: Value, depth: Value) -> Value:
        return f.read(f.at(row, k, self.source), self.source, LANES, f.mask(depth - k, LANES))


@dataclass(frozen=True)
class PackTiles(Kernel):
    """A right operand in panels of `PANEL` columns: a mark, then for each tap, each `DEPTH` channels of it and each part two tiles side by
    side, of pairs of channels; filled up with zeros.

    Args:
        source: element type: f32, bf16 or f16.
        parts: 1, 2 or 3; with 1, marks are 0.
        batch: dimensions of the batch.

    Tasks: (element of the batch, panel), panels fastest.  Words: `names`; strides in bytes.  `line`: from one channel of the source to the
    next; columns lie one after the other.  `depth`: channels of a tap.
    """

    source: Storage
    parts: int
    batch: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """Of the words of a job."""
        batch = (f"{name}_batch{i}" for i in range(self.batch) for name in ("size", "source", "target"))
        return ("source", "target", "depth", "taps", "columns", "line", "panels", *batch)

    def emit(self, f: Writer) -> None:
        words = Words(f, self.names)
        with f.loop(f.begin, f.end) as task:
            panels = words["panels"]
            element, panel = task // panels, task % panels
            source, target = words.pointer("source"), words.pointer("target")
            for i in reversed(range(self.batch)):
                size = words[f"size_batch{i}"]
                index, element = element % size, element // size
                source = f.at(source, index * words[f"source_batch{i}"], "i8")
                target = f.at(target, index * words[f"target_batch{i}"], "i8")
            self._panel(f, words, source, target, panel)

    def _panel(self, f: Writer, words: Words, source: Value, target: Value, panel: Value) -> None:
        depth, taps, line = words["depth"], words["taps"], words["line"]
        chunks = (depth + (DEPTH - 1)) // DEPTH
        left = words["columns"] - panel * PANEL
        source = f.at(source, panel * (PANEL * STORAGE_BYTES[self.source]), "i8")
        step = self.parts * 2 * TILE_BYTES
        target = f.at(target, panel * (taps * chunks * step + HEADER_BYTES), "i8")
        raw = None if self.parts == 1 else self._mark(f, source, (taps * depth, line), left, target)
        if raw is None:
            f.store(f.constant(0, "u32"), target)
        with f.loop(0, taps) as tap, f.loop(0, chunks) as chunk:
            tile = f.at(target, (tap * chunks + chunk) * step + HEADER_BYTES, "i8")
            first = f.at(source, tap * depth * line, "i8")
            with f.loop(0, DEPTH, 2) as k:
                for half in range(2):
                    self._pairs(f, first, (chunk * DEPTH + k, depth, line), (half, left), raw, f.at(tile, k * 32 + half * TILE_BYTES, "i8"))

    def _mark(self, f: Writer, source: Value, lines: tuple[Value, Value], left: Value, target: Value) -> Value:
        """Whether the panel holds numbers that are no sums of parts."""
        count, line = lines
        largest = [f.variable(f.constant(0, "u32", LANES)) for _ in range(2)]
        with f.loop(0, count) as k:
            for half, found in enumerate(largest):
                x = self._read(f, f.at(source, k * line, "i8"), half, left)
                found.set(f.larger(found.get(), magnitude(f, x)))
        marked = f.larger(*(mark(f, found.get()) for found in largest))
        f.store(marked, target)
        return marked.differs(0)

    def _pairs(
        self, f: Writer, first: Value, lines: tuple[Value, Value, Value], place: tuple[int, Value], raw: Value | None, target: Value
    ) -> None:
        """Two channels of 16 columns, all parts."""
        (k, depth, line), (half, left) = lines, place
        never = f.constant(0, "i64")
        rows = [self._read(f, f.at(first, (k + i) * line, "i8"), half, f.select(depth > k + i, left, never)) for i in range(2)]
        split_rows = [[f.converted(part, "u32") for part in split(f, row, self.parts, raw)] for row in rows]
        for p, (low, high) in enumerate(zip(*split_rows, strict=True)):
            f.store(low | (high << 16), f.at(target, p * 2 * TILE_BYTES, "i8"))

    def _read(self, f: Writer, row: Value, half: int, left: Value) -> Value:
        return f.read(f.at(row, half * LANES, self.source), self.source, LANES, f.mask(left - half * LANES, LANES))
