"""The sums of a block of a product in tiles of AMX: four tiles at most, which tiles of rows times tiles of a panel are added to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.tensors import ALIGNMENT
from ttc.runtime.engines.native.kernels.amx_pack import PANEL, TILE_BYTES, step_bytes
from ttc.runtime.engines.native.kernels.amx_parts import PRODUCTS
from ttc.runtime.engines.native.kernels.tile_product import BLOCK, USUAL_GROUP

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.tiles import Tiles
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

_TILE = 16
"""The rows of a tile, and the float32 of one of them."""
LEFT, RIGHT = (4, 5), (6, 7)
"""The tiles of rows and of a panel."""
_SUMS = ((0, 1), (2, 3))


@dataclass(frozen=True)
class TileSums:
    """The sums of a block.

    Args:
        parts: of operands, see `amx_parts`.
        place: of the sums in memory: rows of a panel's columns.
        size: tiles down and across, 1 or 2 each.
    """

    tiles: Tiles
    parts: int
    place: Value
    size: tuple[int, int]

    def clear(self) -> None:
        """Emit that all are zero."""
        for tile, _ in self._tiles():
            self.tiles.zero(tile)

    def load(self, f: Writer) -> None:
        """Emit that they are what is in memory."""
        for tile, start in self._tiles():
            self.tiles.load(tile, f.at(self.place, start, "i8"), f.constant(PANEL * 4, "i64"))

    def store(self, f: Writer) -> None:
        """Emit that they go to memory."""
        for tile, start in self._tiles():
            self.tiles.store(tile, f.at(self.place, start, "i8"), f.constant(PANEL * 4, "i64"))

    def _tiles(self) -> Iterator[tuple[int, int]]:
        """Yield tiles, and the byte where each begins in memory."""
        down, across = self.size
        return ((tile, _TILE * (i * PANEL + j) * 4) for i, row in enumerate(_SUMS[:down]) for j, tile in enumerate(row[:across]))

    def emit_step(self, f: Writer, operands: tuple[Value, Value], strides: tuple[Value, Value], ahead: Value) -> Value:
        """Emit the products of the channels of one tile, all pairs of parts; meanwhile a quarter as much of a panel is fetched.

        Args:
            operands: addresses of rows, and of the channels in a panel.
            strides: bytes from row to row, and from part to part of the rows.
            ahead: address of what is fetched; returned is that of what follows.
        """
        (a, b), (row, part), (down, across) = operands, strides, self.size
        width, near = f.constant(64, "i64"), step_bytes(self.parts) * BLOCK // USUAL_GROUP
        lines = iter(range(0, near, ALIGNMENT))
        there: tuple[int | None, int | None] = (None, None)
        for left, right in PRODUCTS[self.parts]:
            for half in range(2):
                if left != there[0] and half < down:
                    self.tiles.load(LEFT[half], f.at(a, part * left + row * (_TILE * half), "i8"), row)
                if right != there[1] and half < across:
                    self.tiles.load(RIGHT[half], f.at(b, (2 * right + half) * TILE_BYTES, "i8"), width)
            there = (left, right)
            for i in range(down):
                for total, j in zip(_SUMS[i][:across], RIGHT[:across], strict=True):
                    self.tiles.dot(total, LEFT[i], j)
                    for line in islice(lines, 8 // (down * across)):
                        f.prefetch(f.at(ahead, line, "i8"), 2)
        return f.at(ahead, near, "i8")
