"""Matrix products and convolutions of integers: as `Gemm`, with exact sums in 32 bits.

Integers of 8 bits, less a zero point each, have 16 bits at most.  Two neighbouring channels are multiplied and added in one instruction,
which exists on every x86-64 CPU, does not saturate, and does twice the multiplications of a float32 one; weights of 8 bits stay so in
memory.  Others are multiplied in 32 bits.  Sums wrap modulo 2^32, as those of the reference do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from ttc.runtime.engines.native.kernels.gemm import Gemm, Where
from ttc.runtime.engines.native.kernels.gemm_block import Block, Operands, block_for

if TYPE_CHECKING:
    from ttc.runtime.engines.native.features import Cpu
    from ttc.runtime.engines.native.ir.values import Value, Variable
    from ttc.runtime.engines.native.ir.writer import Writer
    from ttc.runtime.engines.native.kernels.words import Words

Factor: TypeAlias = Literal["i8", "i16", "i32"]
"""Element type of the right operand; the left one is i16, or i32 where this is."""


def channels_of(factor: Factor) -> int:
    """Channels that are multiplied together."""
    return 1 if factor == "i32" else 2


def integer_block(cpu: Cpu, rows: int, columns: int) -> Block:
    """The block for so many rows and columns: with few registers, one must be left for products before they are added."""
    found = block_for(cpu, rows, columns)
    registers = 32 if cpu.vector_bytes == 64 or cpu.arch == "aarch64" else 16
    if found.rows * found.vectors + found.vectors + 2 <= registers:
        return found
    return replace(found, rows=6 if found.vectors > 1 else 8, vectors=min(found.vectors, 2)).fitted(rows)


@dataclass(frozen=True)
class IntegerGemm(Gemm):
    """c = region(a b, others...) of integers.

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
        lanes, columns = self.block.lanes, self.block.columns
        zero = f.constant(0, "i32", lanes)
        sums = [[f.variable(zero) for _ in range(self.block.vectors)] for _ in range(count)]
        panel = f.variable(operands.panel)
        with f.loop(0, operands.taps) as tap:
            rows = operands.rows(tap)
            with f.loop(0, operands.depth) as k:
                right = [self._right(f, panel.get(), v) for v in range(self.block.vectors)]
                for row, address in zip(sums, rows, strict=True):
                    self._add(f, row, f.spread(f.load(f.at(address, k, "i32"), "i32"), lanes), right)
                panel.set(f.at(panel.get(), columns, "i16" if self.factor == "i8" else "i32"))
        for r, row in enumerate(sums):
            for v, total in enumerate(row):
                f.store(total.get(), f.at(target, r * columns + v * lanes, "i32"))

    def _right(self, f: Writer, panel: Value, vector: int) -> Value:
        """A vector of a row of a panel."""
        lanes = self.block.lanes
        if self.factor == "i32":
            return f.load(f.at(panel, vector * lanes, "i32"), "i32", lanes)
        found = f.load(f.at(panel, vector * lanes * 2, self.factor), self.factor, 2 * lanes)
        return f.converted(found, "i16")

    def _add(self, f: Writer, row: list[Variable], left: Value, right: list[Value]) -> None:
        from ttc.runtime.engines.native.ir.integer_dot import add_products, pairs

        for total, b in zip(row, right, strict=True):
            total.set(total.get() + left * b if self.factor == "i32" else add_products(f, total.get(), pairs(f, left), b))
