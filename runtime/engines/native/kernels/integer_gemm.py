"""Matrix products and convolutions of integers: as `Gemm`, with exact sums in 32 bits.

Integers of 8 bits, less a zero point each, have 16 bits at most.  Two neighbouring channels are multiplied and added in one instruction,
which exists on every x86-64 CPU, does not saturate, and does twice the multiplications of a float32 one; weights of 8 bits stay so in
memory.  Others are multiplied in 32 bits.  Sums wrap modulo 2^32, as those of the reference do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from ttc.runtime.engines.native.kernels.gemm import Gemm, Where
from ttc.runtime.engines.native.kernels.gemm_block import Block, Operands, block_for

if TYPE_CHECKING:
    from ttc.runtime.engines.native.codegen.features import Cpu
    from ttc.runtime.engines.native.ir.values import LocalVariable, Value
    from ttc.runtime.engines.native.ir.writer import Writer
    from ttc.runtime.engines.native.kernels.words import Words

Factor: TypeAlias = Literal["i8", "i16", "i32"]
"""The element type of the right operand; the left one is i16, or i32 where the right one is."""


def channels_of(factor: Factor) -> int:
    """Return how many channels are multiplied together."""
    return 1 if factor == "i32" else 2


def integer_block(cpu: Cpu, rows: int, columns: int) -> Block:
    """Return the block for so many rows and columns: some registers must be left for products before they are added, and for addresses."""
    found = block_for(cpu, rows, columns)
    registers = 32 if cpu.vector_bytes == 64 or cpu.arch == "aarch64" else 16
    if found.rows * found.vectors + 2 * found.vectors <= registers and found.rows <= registers // 2:
        return found
    return replace(found, rows=6 if found.vectors > 1 else 8, vectors=min(found.vectors, 2)).fitted(rows)


@dataclass(frozen=True)
class IntegerGemm(Gemm):
    """The kernel of products of integers: c = region(a b, others...), exact in 32 bits.

    Args:
        region: input 0 is the sum, an i32.
        factor: what the right operand is packed in.

    `depth` counts words of 4 bytes of the left operand: two channels each, or one of 32 bits.
    """

    factor: Factor = "i16"

    @property
    def channels_a_word(self) -> int:
        return channels_of(self.factor)

    def _block(self, f: Writer, words: Words, where: Where, span: tuple[Value, Value], panel: Value, tile: Value) -> None:
        (bases, table, _), (first, count) = where, span
        depth, taps = words["depth"], words["taps"]
        right = f.at(bases["b"], panel * taps * depth * self.block.columns, "i16" if self.factor == "i8" else "i32")
        self._fetch(f, table, count, panel)
        for rows in self.block.counts:
            with f.when(count.equals(rows)):
                operands = Operands(
                    lambda tap, rows=rows: self.rows.left(f, words, bases["a"], first, rows, table, tap), right, taps, depth
                )
                self._sums(f, rows, operands, tile)
        self._finish(f, words, table, count, panel, tile)

    def _sums(self, f: Writer, count: int, operands: Operands, target: Value) -> None:
        """Sums of `count` rows, put into memory."""
        from ttc.runtime.engines.native.ir.integer_dot import pairs_a_round

        lanes, columns = self.block.lanes, self.block.columns
        zero = f.constant(0, "i32", lanes)
        sums = [[f.variable(zero) for _ in range(self.block.vectors)] for _ in range(count)]
        panel = f.variable(operands.panel)
        with f.loop(0, operands.taps) as tap:
            rows = operands.rows(tap)
            done = f.constant(0, "i64")
            for step in dict.fromkeys((1 if self.factor == "i32" else pairs_a_round(f), 1)):
                end = operands.depth // step * step
                with f.loop(done, end, step) as k:
                    self._add(f, sums, rows, k, panel.get(), step)
                    panel.set(f.at(panel.get(), columns * step, "i16" if self.factor == "i8" else "i32"))
                done = end
        for r, row in enumerate(sums):
            for v, total in enumerate(row):
                f.store(total.get(), f.at(target, r * columns + v * lanes, "i32"))

    def _add(self, f: Writer, sums: list[list[LocalVariable]], rows: Sequence[Value], k: Value, panel: Value, count: int) -> None:
        """The products of `count` words; of one with factor i32."""
        from ttc.runtime.engines.native.ir.integer_dot import add_pairs

        if self.factor != "i32":
            found = add_pairs(f, [[total.get() for total in row] for row in sums], rows, k, panel, self.factor, count)
            for row, values in zip(sums, found, strict=True):
                for total, value in zip(row, values, strict=True):
                    total.set(value)
            return
        lanes = self.block.lanes
        right = [f.load(f.at(panel, v * lanes, "i32"), "i32", lanes) for v in range(self.block.vectors)]
        for row, address in zip(sums, rows, strict=True):
            left = f.spread(f.load(f.at(address, k, "i32"), "i32"), lanes)
            for total, b in zip(row, right, strict=True):
                total.set(total.get() + left * b)
