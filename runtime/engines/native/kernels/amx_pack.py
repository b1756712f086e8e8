"""Operands of matrix products in tiles: rows and panels of parts (see `amx_parts`)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.storage import STORAGE_BYTES, Storage
from ttc.runtime.engines.native.kernels.amx_parts import DEPTH, HEADER_BYTES, LANES, halves, mark, split
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.operands import TENSORS, RowKernel
from ttc.runtime.engines.native.kernels.words import Words, bases_at, batch_names

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import LocalVariable, Value
    from ttc.runtime.engines.native.ir.writer import Writer

PANEL = 32
"""The columns of a panel: two tiles side by side."""
TILE_BYTES = 1024


def chunks_of(depth: int) -> int:
    """Return how many tiles hold so many channels."""
    return -(-depth // DEPTH)


def row_bytes(depth: int, parts: int) -> int:
    """Return the bytes of a row of parts."""
    return HEADER_BYTES + parts * chunks_of(depth) * DEPTH * 2


def step_bytes(parts: int) -> int:
    """Return the bytes of a panel for the channels of one tile."""
    return parts * 2 * TILE_BYTES


def panel_bytes(depth: int, taps: int, parts: int) -> int:
    """Return the bytes of a panel, for so many taps of so many channels each."""
    return HEADER_BYTES + taps * chunks_of(depth) * step_bytes(parts)


@dataclass(frozen=True)
class SplitRows(RowKernel):
    """Writes rows of channels in parts: a mark, then the first parts of all channels, all second ones, ...; each filled with zeros to whole
    tiles.

    parts: 2 or 3.
    """

    parts: int

    def written_bytes(self, depth: int) -> int:
        return row_bytes(depth, self.parts)

    def emit_row(self, f: Writer, depth: Value, source: Value, target: Value) -> None:
        sizes = (depth, (depth + (DEPTH - 1)) // DEPTH * DEPTH)
        largest = f.variable(f.constant(0, "u32", LANES))
        self._fill(f, sizes, source, target, largest)
        marked = mark(f, f.folded("larger", largest.get()))
        f.store(marked, target)
        with f.when(marked.differs(0)):
            self._fill(f, sizes, source, target, None)

    def _fill(self, f: Writer, sizes: tuple[Value, Value], source: Value, target: Value, largest: LocalVariable | None) -> None:
        """Parts, and the largest magnitude; without a place for it, halves.  sizes: channels, and as many as fill whole tiles."""
        depth, width = sizes
        whole = depth // LANES * LANES
        for first, last, masked in ((0, whole, False), (whole, width, True)):
            with f.loop(first, last, LANES) as k:
                x = self._read(f, source, k, depth if masked else None)
                for p, part in enumerate(_parts(f, x, self.parts, largest)):
                    f.store(f.converted(part, "u16"), f.at(target, (width * p + k) * 2 + HEADER_BYTES, "i8"))

    def _read(self, f: Writer, row: Value, k: Value, depth: Value | None) -> Value:
        """16 channels from k on, those that there are if `depth` says how many."""
        return f.read(f.at(row, k, self.source), self.source, LANES, None if depth is None else f.mask(depth - k, LANES))


def _parts(f: Writer, x: Value, parts: int, largest: LocalVariable | None) -> list[Value]:
    """Parts, and the largest magnitude so far; without a place for it, halves."""
    if largest is None:
        return halves(f, x, parts)
    largest.set(f.larger(largest.get(), f.magnitude(x)))
    return split(f, x, parts)


class PackPanels(JobKernel):
    """Packs a right operand, panel by panel; the base of kernels, which have an element type `source` and dimensions of a `batch`.

    Tasks: (element of the batch, panel), panels fastest.  Words: `names`; strides in bytes.  `line`: from one channel of the source to the
    next; columns lie one after the other.  `depth`: channels of a tap.
    """

    source: Storage
    batch: int

    @property
    def names(self) -> tuple[str, ...]:
        return (*TENSORS, "depth", "taps", "columns", "line", "panels", *batch_names(TENSORS, self.batch))

    def emit_job(self, f: Writer, words: Words) -> None:
        with f.loop(f.begin, f.end) as task:
            panels = words["panels"]
            source, target = bases_at(f, words, TENSORS, self.batch, task // panels)
            self.emit_panel(f, words, source, target, task % panels)

    @abstractmethod
    def emit_panel(self, f: Writer, words: Words, source: Value, target: Value, panel: Value) -> None:
        """Pack a panel.  source, target: addresses in this element of the batch.  panel: its number."""


@dataclass(frozen=True)
class PackTiles(PackPanels):
    """Packs a right operand: per panel of `PANEL` columns a mark, then per tap, `DEPTH` channels and part two tiles of pairs, filled up
    with zeros.

    Args:
        source: element type: f32, bf16 or f16.
        parts: 1, 2 or 3; with 1, marks are 0.
        batch: dimensions of the batch.
    """

    source: Storage
    parts: int
    batch: int = 0

    def emit_panel(self, f: Writer, words: Words, source: Value, target: Value, panel: Value) -> None:
        chunks = (words["depth"] + (DEPTH - 1)) // DEPTH
        left = words["columns"] - panel * PANEL
        source = f.at(source, panel * (PANEL * STORAGE_BYTES[self.source]), "i8")
        step = words["taps"] * chunks * step_bytes(self.parts)
        target = f.at(target, panel * (step + HEADER_BYTES), "i8")
        with f.choice(left >= PANEL) as (full, narrow):
            for branch, columns in ((full, None), (narrow, left)):
                with branch:
                    self._fill(f, words, source, columns, target)

    def _fill(self, f: Writer, words: Words, source: Value, left: Value | None, target: Value) -> None:
        """A panel.  left: columns from its first on; None: as many as it has."""
        largest = [f.variable(f.constant(0, "u32", LANES)) for _ in range(2)]
        self._tiles(f, words, source, left, (target, largest))
        if self.parts == 1:
            f.store(f.constant(0, "u32"), target)
            return
        marked = f.larger(*(mark(f, found.get()) for found in largest))
        f.store(marked, target)
        with f.when(marked.differs(0)):
            self._tiles(f, words, source, left, (target, [None, None]))

    def _tiles(
        self, f: Writer, words: Words, source: Value, left: Value | None, target: tuple[Value, Sequence[LocalVariable | None]]
    ) -> None:
        """Parts, and the largest magnitude in each column; without places for these, halves."""
        panel, largest = target
        depth, taps, line = words["depth"], words["taps"], words["line"]
        chunks = (depth + (DEPTH - 1)) // DEPTH
        with f.loop(0, taps) as tap, f.loop(0, chunks) as chunk:
            tile = f.at(panel, (tap * chunks + chunk) * step_bytes(self.parts) + HEADER_BYTES, "i8")
            first = f.at(source, (tap * depth + chunk * DEPTH) * line, "i8")
            channels = depth - chunk * DEPTH
            pairs = f.smaller(channels, DEPTH) // 2
            for start, end, last in ((0, pairs, False), (pairs, DEPTH // 2, True)):
                with f.loop(start, end) as pair:
                    row = f.at(first, pair * 2 * line, "i8")
                    for half in range(2):
                        rows = self._last(f, row, channels - pair * 2, half, left) if last else self._both(f, row, line, half, left)
                        self._pairs(f, rows, largest[half], f.at(tile, pair * 64 + half * TILE_BYTES, "i8"))

    def _both(self, f: Writer, row: Value, line: Value, half: int, left: Value | None) -> list[Value]:
        """Return a channel and the next."""
        return [self._read(f, f.at(row, line * i, "i8"), half, left) for i in range(2)]

    def _last(self, f: Writer, row: Value, channels: Value, half: int, left: Value | None) -> list[Value]:
        """Return a channel without a partner, or none at all: zeros beside it."""
        columns = f.constant(PANEL, "i64") if left is None else left
        there = f.select(channels > 0, columns, f.constant(0, "i64"))
        return [self._read(f, row, half, there), f.constant(0.0, "f32", LANES)]

    def _pairs(self, f: Writer, rows: list[Value], largest: LocalVariable | None, target: Value) -> None:
        """Two channels of 16 columns, all parts."""
        if self.parts == 1:
            found = [[f.converted(f.bits(f.narrowed(row, "bf16"), "u16"), "u32")] for row in rows]
        else:
            found = [_parts(f, row, self.parts, largest) for row in rows]
        for p, (low, high) in enumerate(zip(*found, strict=True)):
            f.store(low & 0xFFFF | (high << 16), f.at(target, p * 2 * TILE_BYTES, "i8"))

    def _read(self, f: Writer, row: Value, half: int, left: Value | None) -> Value:
        mask = None if left is None else f.mask(left - half * LANES, LANES)
        return f.read(f.at(row, half * LANES, self.source), self.source, LANES, mask)
