"""Right operands of products of integers in tiles: panels of bytes, and the sums of their columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.kernels.amx_pack import PANEL, TILE_BYTES, PackPanels
from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import LocalVariable, Value
    from ttc.runtime.engines.native.ir.writer import Writer

BYTE_DEPTH = 64
"""The channels of a tile of bytes."""
COLUMN_SUMS = PANEL * 4
"""The bytes of the sums of a panel's columns, i32, which precede its tiles."""
_LANES = 16
_QUAD = 4
"""The channels that lie side by side."""


def byte_chunks(depth: int) -> int:
    """Return how many tiles hold so many channels."""
    return -(-depth // BYTE_DEPTH)


def byte_panel_bytes(depth: int, taps: int) -> int:
    """Return the bytes of a panel, for so many taps of so many channels each."""
    return COLUMN_SUMS + taps * byte_chunks(depth) * 2 * TILE_BYTES


@dataclass(frozen=True)
class PackByteTiles(PackPanels):
    """Packs a right operand of integers that i8 holds: per panel of `PANEL` columns the sums of each, over all taps and channels, then per
    tap and `BYTE_DEPTH` channels two tiles of four channels side by side, filled up with zeros.

    Args:
        source: element type, of an integer of up to 32 bits.
        batch: dimensions of the batch.
    """

    source: Storage
    batch: int = 0

    def emit_panel(self, f: Writer, words: Words, source: Value, target: Value, panel: Value) -> None:
        depth, taps, line = words["depth"], words["taps"], words["line"]
        chunks = (depth + (BYTE_DEPTH - 1)) // BYTE_DEPTH
        panel_bytes = taps * chunks * (2 * TILE_BYTES) + COLUMN_SUMS
        target = f.at(target, panel * panel_bytes, "i8")
        first = panel * PANEL
        left = words["columns"] - first
        sums = [f.variable(f.constant(0, "i32", _LANES)) for _ in range(2)]
        with f.loop(0, taps) as tap, f.loop(0, chunks) as chunk:
            tile = f.at(target, (tap * chunks + chunk) * (2 * TILE_BYTES) + COLUMN_SUMS, "i8")
            row = f.at(f.at(source, (tap * depth + chunk * BYTE_DEPTH) * line, "i8"), first, self.source)
            channels = depth - chunk * BYTE_DEPTH
            with f.loop(0, BYTE_DEPTH // _QUAD) as quad:
                for half, total in enumerate(sums):
                    place = f.at(row, half * _LANES, self.source)
                    self._quad(
                        f,
                        (place, line),
                        (channels - quad * _QUAD, left - half * _LANES),
                        (quad, total),
                        f.at(tile, half * TILE_BYTES, "i8"),
                    )
        for half, total in enumerate(sums):
            f.store(total.get(), f.at(target, half * _LANES, "i32"))

    def _quad(
        self,
        f: Writer,
        source: tuple[Value, Value],
        there: tuple[Value, Value],
        into: tuple[Value, LocalVariable],
        tile: Value,
    ) -> None:
        """Four channels of 16 columns.  source: address of channel 0 of the tile, stride; there: how many channels and columns."""
        (first, line), (channels, columns), (quad, total) = source, there, into
        word = f.constant(0, "i32", _LANES)
        for i in range(_QUAD):
            count = f.select(channels > i, columns, f.constant(0, "i64"))
            row = f.at(first, (quad * _QUAD + i) * line, "i8")
            x = f.converted(f.load(row, self.source, _LANES, f.mask(count, _LANES)), "i32")
            total.set(total.get() + x)
            word = word | (x & 0xFF) << 8 * i
        f.store(word, f.at(tile, quad * 64, "i8"))
