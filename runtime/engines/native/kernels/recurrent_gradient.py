"""A step of the gradient of a recurrent layer: a product of few rows, and what the terms of the cell do to it, panel by panel.

Each task takes columns of the states: it multiplies the cotangents of the later step's sums by its panels of the weights, adds what the
later step gives to the same columns, and applies the terms to them.  What it carries from step to step no other task reads, so that a step
is one job, and threads wait for each other once a step.  An inner product makes a second job, as it reads sums of all columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.storage import STORAGE_BYTES, Storage
from ttc.runtime.engines.native.graph.tensors import ALIGNMENT
from ttc.runtime.engines.native.kernels.amx_block import ROW_BYTES
from ttc.runtime.engines.native.kernels.amx_pack import TILE_BYTES, step_bytes
from ttc.runtime.engines.native.kernels.amx_parts import DEPTH, HEADER_BYTES
from ttc.runtime.engines.native.kernels.gemm_block import SPAN, Block, Multiplier, Operands, emit_sums
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.optional_tiles import optional_tiles
from ttc.runtime.engines.native.kernels.shares import shares_of
from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.tiles import Tiles
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

_SIZES = ("rows", "columns", "depth", "panels", "row_blocks", "row_chunks")
_TENSORS = ("left", "weights", "factors", "dy", "carried", "sums", "kept")
_ROWS = ("left", "factors", "dy", "sums", "kept")


@dataclass(frozen=True)
class RecurrentGradientStep(JobKernel):
    """The kernel of a step.

    Args:
        block: of sums of products in registers.
        factors, dy, sums: element types.
        terms: source and target slots, see `nn.recurrent_gradient`; of the part of an inner product all have slot 0, for it, as source.
        states: their number.
        outputs: numbers of the sums that are written.
        multiplied: the first sums, which products multiply, `kept` as they are multiplied where that is not in `sums`; else 0.
        inner: whether this is the part of a step from its inner product on.
        multiplier: how left, and the weights in panels, are multiplied.
        span: see `Operands`.
        in_tiles: whether tiles of AMX multiply bfloat16: the block has the size of two, depth is whole tiles, and there is memory for as
            many rows of left.

    Tasks: (panel, range of row blocks), the latter faster.  Words: `names`; strides of rows are in bytes, depth counts words of 4 bytes, 0
    where there is no later step.  carried[states, rows, columns] of float32 is dense.
    """

    block: Block
    factors: Storage
    dy: Storage
    sums: Storage
    terms: tuple[tuple[int, int], ...]
    states: int
    outputs: tuple[int, ...]
    multiplied: int
    inner: bool = False
    multiplier: Multiplier = "f32"
    span: int = SPAN
    in_tiles: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return (*_SIZES, *_TENSORS, *(f"{name}_row" for name in _ROWS))

    @property
    def scratch_bytes(self) -> int:
        """Bytes of scratch memory that one thread needs."""
        return self.block.bytes

    def emit_job(self, f: Writer, words: Words) -> None:
        with optional_tiles(f, self.in_tiles) as tiles:
            _Step(f, words, self).tasks(tiles)


class _Step:
    """The code of one kernel."""

    def __init__(self, f: Writer, words: Words, spec: RecurrentGradientStep) -> None:
        self.f, self.words, self.spec = f, words, spec
        self.rows, self.columns = words["rows"], words["columns"]
        self.bases = {name: words.pointer(name) for name in _TENSORS}

    def tasks(self, tiles: Tiles | None) -> None:
        """Write the loop over tasks, and in each that over blocks of rows."""
        f, words, block = self.f, self.words, self.spec.block
        chunks = words["row_chunks"]
        blocks, shares = shares_of(words["row_blocks"], chunks), shares_of(self.rows, words["row_blocks"])
        with f.loop(f.begin, f.end) as task:
            panel = task // chunks
            first_block, last_block = blocks.span(task % chunks)
            with f.loop(first_block, last_block) as number:
                first, end = shares.span(number)
                self._fetch(first, end, panel * block.columns)
                if tiles is not None:
                    self._products_in_tiles(tiles, first, panel)
                for count in () if tiles is not None else block.counts:
                    with f.when((end - first).equals(count)):
                        self._products(first, count, panel)
                with f.loop(first, end) as row:
                    self._row(row, panel * block.columns, f.at(f.scratch, (row - first) * block.columns, "f32"))

    def _fetch(self, first: Value, end: Value, start: Value) -> None:
        """Bring near what the terms read and write of a block, a line or two of each, while its products are computed."""
        f, spec = self.f, self.spec
        parts = {"factors": range(len(spec.terms)), "dy": range(0 if spec.inner else 1), "sums": spec.outputs}
        with f.loop(first, end) as row:
            for name, part in ((name, part) for name, numbers in parts.items() for part in numbers):
                storage: Storage = getattr(spec, name)
                place = self._at(name, storage, row, self.columns * part + start)
                for line in range(0, spec.block.columns * STORAGE_BYTES[storage], ALIGNMENT):
                    f.prefetch(f.at(place, line, "i8"))

    def _products(self, first: Value, count: int, panel: Value) -> None:
        """Sums of products of so many rows and a panel, into scratch memory."""
        f, words, spec = self.f, self.words, self.spec
        depth = words["depth"]
        rows = [f.at(self.bases["left"], (first + r) * words["left_row"], "i8") for r in range(count)]
        weights = f.at(self.bases["weights"], panel * depth * spec.block.columns, "f32")
        operands = Operands(lambda _: rows, weights, f.constant(1, "i64"), depth, span=spec.span)
        emit_sums(f, spec.block, count, operands, spec.multiplier, f.scratch)

    def _products_in_tiles(self, tiles: Tiles, first: Value, panel: Value) -> None:
        """Sums of products of a tile of rows and a panel, into scratch memory."""
        f, words = self.f, self.words
        depth, stride, per_channel = words["depth"] * 2, words["left_row"], step_bytes(1) // DEPTH
        left, width = f.at(self.bases["left"], first * stride, "i8"), f.constant(ROW_BYTES, "i64")
        right = f.at(self.bases["weights"], panel * (depth * per_channel + HEADER_BYTES) + HEADER_BYTES, "i8")
        for half in range(2):
            tiles.zero(half)
        with f.loop(0, depth, DEPTH) as channel:
            tiles.load(2, f.at(left, channel * 2, "i8"), stride)
            for half in range(2):
                tiles.load(3 + half, f.at(right, channel * per_channel + half * TILE_BYTES, "i8"), width)
                tiles.dot(half, 2, 3 + half)
        for half in range(2):
            place = f.at(f.scratch, half * self.spec.block.lanes, "f32")
            tiles.store(half, place, f.constant(self.spec.block.columns * STORAGE_BYTES["f32"], "i64"))

    def _row(self, row: Value, start: Value, sums: Value) -> None:
        """The terms of one row, vector by vector."""
        f, block = self.f, self.spec.block
        width = f.smaller(self.columns - start, block.columns)
        with f.loop(0, width, block.lanes) as i:
            left = width - i
            with f.choice(left >= block.lanes) as (whole, part):
                with whole:
                    self._vector(row, start + i, f.load(f.at(sums, i, "f32"), "f32", block.lanes), None)
                with part:
                    self._vector(row, start + i, f.load(f.at(sums, i, "f32"), "f32", block.lanes), f.mask(left, block.lanes))

    def _vector(self, row: Value, column: Value, product: Value, mask: Value | None) -> None:
        f, spec, lanes = self.f, self.spec, self.spec.block.lanes
        zero = f.constant(0.0, "f32", lanes)
        carried = [f.at(self.bases["carried"], ((self.rows * i) + row) * self.columns + column, "f32") for i in range(spec.states)]
        first = spec.states if spec.inner else 0
        slots: dict[int, Value] = {first + i: f.load(place, "f32", lanes, mask) for i, place in enumerate(carried)}
        slots[0] = product if spec.inner else slots[0] + product + self._read("dy", spec.dy, row, column, mask)
        for i, (source, target) in enumerate(spec.terms):
            factor = self._read("factors", spec.factors, row, self.columns * i + column, mask)
            before = slots.get(target)
            slots[target] = factor * slots[source] if before is None else f.fma(factor, slots[source], before)
        for i, place in enumerate(carried):
            f.store(slots.get(spec.states + i, zero), place, mask)
        for j in spec.outputs:
            found, at = slots.get(2 * spec.states + j, zero), self.columns * j + column
            f.write(found, self._at("sums", spec.sums, row, at), spec.sums, mask)
            if j < spec.multiplied:
                f.write(found, self._at("kept", spec.multiplier, row, at), spec.multiplier, mask)

    def _at(self, name: str, storage: Storage, row: Value, column: Value) -> Value:
        return self.f.at(self.f.at(self.bases[name], row * self.words[f"{name}_row"], "i8"), column, storage)

    def _read(self, name: str, storage: Storage, row: Value, column: Value, mask: Value | None) -> Value:
        return self.f.read(self._at(name, storage, row, column), storage, self.spec.block.lanes, mask)
