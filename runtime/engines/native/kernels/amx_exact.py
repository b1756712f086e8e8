"""Products of what is no sum of parts, in float32: slow, rare, and as float32 has it with infinities, NaN and numbers of any size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.kernels.amx_pack import PANEL, TILE_BYTES, step_bytes
from ttc.runtime.engines.native.kernels.amx_parts import DEPTH, HEADER_BYTES, LANES, joined

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer


@dataclass(frozen=True)
class ExactOperands:
    """Where the values of one block come from.

    Args:
        row: address of a row of parts, given a tap and the number of the row in the block (i64).
        panel: address of the right operand's panel.
        taps, depth: i64; channels of a tap.
    """

    row: Callable[[Value, Value], Value]
    panel: Value
    taps: Value
    depth: Value
    parts: int


def emit_exact(f: Writer, operands: ExactOperands, count: Value, sums: Value) -> None:
    """Emit sums of `count` rows, of `PANEL` float32 each, into memory at `sums`."""
    depth, parts = operands.depth, operands.parts
    chunks = (depth + (DEPTH - 1)) // DEPTH
    wild_panel = f.load(operands.panel, "u32").differs(0)
    zero = f.constant(0.0, "f32", LANES)
    with f.loop(0, count) as r:
        totals = [f.variable(zero) for _ in range(PANEL // LANES)]
        with f.loop(0, operands.taps) as tap:
            row = operands.row(tap, r)
            wild_row = f.load(row, "u32").differs(0)
            with f.loop(0, depth) as k:
                numbers = [f.load(f.at(row, (chunks * (p * DEPTH) + k) * 2 + HEADER_BYTES, "i8"), "u16") for p in range(parts)]
                left = f.spread(joined(f, [f.converted(x, "u32") for x in numbers], wild_row), LANES)
                step = (tap * chunks + k // DEPTH) * step_bytes(parts)
                tile = f.at(operands.panel, step + (k % DEPTH) // 2 * 64 + HEADER_BYTES, "i8")
                shift = f.spread(f.converted(k % 2 * 16, "u32"), LANES)
                for half, total in enumerate(totals):
                    pairs = [f.load(f.at(tile, (p * 2 + half) * TILE_BYTES, "i8"), "u32", LANES) for p in range(parts)]
                    right = joined(f, [(pair >> shift) & 0xFFFF for pair in pairs], wild_panel)
                    total.set(f.fma(left, right, total.get()))
        for half, total in enumerate(totals):
            f.store(total.get(), f.at(sums, r * PANEL + half * LANES, "f32"))
