"""A step of a layer of long short-term memory: a product of few rows, and what the cell makes of its sums, unit by unit.

Each task takes a vector of units: it multiplies the state by the columns of all four gates of these units, which lie in two neighbouring
panels, adds what the inputs give, and computes the new cells and outputs.  A step is so one job, and threads wait for each other once a
step.  With tiles of AMX it multiplies bfloat16; instructions for pairs of bfloat16 are no faster than float32 on a CPU that has tiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.region import Region
from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.kernels.amx_block import ROW_BYTES
from ttc.runtime.engines.native.kernels.amx_pack import TILE_BYTES, step_bytes
from ttc.runtime.engines.native.kernels.amx_parts import DEPTH, HEADER_BYTES
from ttc.runtime.engines.native.kernels.gemm_block import SPAN, Block, Operands, emit_sums
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.optional_tiles import optional_tiles
from ttc.runtime.engines.native.kernels.shares import shares_of
from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.tiles import Tiles
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

GATES = 4
_SIZES = ("rows", "columns", "depth", "row_blocks", "row_chunks")
_TENSORS = ("left", "weights", "gates", "before", "cells", "output", "kept")
_ROWS = ("left", "gates", "before", "cells", "output", "kept")


@dataclass(frozen=True)
class LstmStep(JobKernel):
    """The kernel of a step.

    Args:
        block: of sums of products in registers, two vectors wide.
        cell: of input, forget and new gates, and the cells before: the new cells.
        output: of the output gate and the new cells.
        keeps: whether the sums of all products take the place of what the inputs give.
        in_tiles: whether tiles of AMX multiply: the block has their size, left and weights are bfloat16, columns are whole tiles, and there
            is memory for as many rows of left.

    Tasks: (vector of units, range of row blocks), the latter faster.  Words: `names`; strides of rows are in bytes.  All else is float32;
    gates[rows, 4 columns] are input, output, forget, new; columns are whole vectors.  weights: two panels for each vector of units.
    kept: in tiles, the outputs in bfloat16, which the next step multiplies.
    """

    block: Block
    cell: Region
    output: Region
    keeps: bool
    in_tiles: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return (*_SIZES, *_TENSORS, *(f"{name}_row" for name in _ROWS))

    @property
    def scratch_bytes(self) -> int:
        """Bytes of scratch memory that one thread needs."""
        return 2 * self.block.bytes

    def emit_job(self, f: Writer, words: Words) -> None:
        with optional_tiles(f, self.in_tiles) as tiles:
            _Step(f, words, self).tasks(tiles)


class _Step:
    """The code of one kernel."""

    def __init__(self, f: Writer, words: Words, spec: LstmStep) -> None:
        self.f, self.words, self.spec, self.lanes = f, words, spec, spec.block.lanes
        self.bases = {name: words.pointer(name) for name in _TENSORS}
        self.tiles = [f.scratch, f.at(f.scratch, spec.block.bytes, "i8")]

    def tasks(self, tiles: Tiles | None) -> None:
        """Write the loop over tasks, and in each that over blocks of rows."""
        f, words, block = self.f, self.words, self.spec.block
        chunks = words["row_chunks"]
        blocks, shares = shares_of(words["row_blocks"], chunks), shares_of(words["rows"], words["row_blocks"])
        with f.loop(f.begin, f.end) as task:
            units = task // chunks
            first_block, last_block = blocks.span(task % chunks)
            with f.loop(first_block, last_block) as number:
                first, end = shares.span(number)
                with f.loop(first, end) as row:
                    self._fetch(row, units * self.lanes)
                if tiles is not None:
                    self._products_in_tiles(tiles, first, units)
                for count in () if tiles is not None else block.counts:
                    with f.when((end - first).equals(count)):
                        self._products(first, count, units)
                with f.loop(first, end) as row:
                    self._row(row, row - first, units * self.lanes)

    def _fetch(self, row: Value, column: Value) -> None:
        """Bring near what the cell reads of a row, while its products are computed."""
        for gate in range(GATES):
            self.f.prefetch(self._at("gates", row, self.words["columns"] * gate + column))
        self.f.prefetch(self._at("before", row, column))

    def _products(self, first: Value, count: int, units: Value) -> None:
        """Sums of products of so many rows and both panels, into scratch memory."""
        f, words, block = self.f, self.words, self.spec.block
        depth = words["depth"]
        rows = [f.at(self.bases["left"], (first + r) * words["left_row"], "i8") for r in range(count)]
        for number, tile in enumerate(self.tiles):
            panel = f.at(self.bases["weights"], (units * 2 + number) * depth * block.columns, "f32")
            emit_sums(f, block, count, Operands(lambda _: rows, panel, f.constant(1, "i64"), depth, span=SPAN), "f32", tile)

    def _products_in_tiles(self, tiles: Tiles, first: Value, units: Value) -> None:
        """Sums of products of a tile of rows and both panels, into scratch memory."""
        f, depth, stride = self.f, self.words["depth"], self.words["left_row"]
        left, width = f.at(self.bases["left"], first * stride, "i8"), f.constant(ROW_BYTES, "i64")
        per_channel = step_bytes(1) // DEPTH
        size = depth * per_channel + HEADER_BYTES
        panels = [f.at(self.bases["weights"], (units * 2 + number) * size + HEADER_BYTES, "i8") for number in range(2)]
        for gate in range(GATES):
            tiles.zero(gate)
        with f.loop(0, depth, DEPTH) as channel:
            tiles.load(GATES, f.at(left, channel * 2, "i8"), stride)
            for gate in range(GATES):
                right = GATES + 1 + gate % 3
                start = f.at(panels[gate // 2], channel * per_channel, "i8")
                tiles.load(right, f.at(start, gate % 2 * TILE_BYTES, "i8"), width)
                tiles.dot(gate, GATES, right)
        for gate in range(GATES):
            place = f.at(self.tiles[gate // 2], gate % 2 * self.lanes, "f32")
            tiles.store(gate, place, f.constant(self.spec.block.columns * 4, "i64"))

    def _row(self, row: Value, place: Value, column: Value) -> None:
        """The cells and outputs of one row."""
        from ttc.runtime.engines.native.ir.regions import emit_region

        f, spec, lanes = self.f, self.spec, self.lanes
        sums: list[Value] = []
        for gate in range(GATES):
            tile = f.at(self.tiles[gate // 2], place * spec.block.columns + gate % 2 * lanes, "f32")
            given = self._at("gates", row, self.words["columns"] * gate + column)
            sums.append(f.load(tile, "f32", lanes) + f.load(given, "f32", lanes))
            if spec.keeps:
                f.store(sums[-1], given)
        enter, leave, forget, new = sums
        cell = emit_region(f, spec.cell, [enter, forget, new, f.load(self._at("before", row, column), "f32", lanes)])
        f.store(cell, self._at("cells", row, column))
        output = emit_region(f, spec.output, [leave, cell])
        f.store(output, self._at("output", row, column))
        if spec.in_tiles:
            f.write(output, self._at("kept", row, column, "bf16"), "bf16")

    def _at(self, name: str, row: Value, column: Value, storage: Storage = "f32") -> Value:
        return self.f.at(self.f.at(self.bases[name], row * self.words[f"{name}_row"], "i8"), column, storage)
