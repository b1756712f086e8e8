"""Matrix products that pack their right operand themselves, a panel at a time.

Weights that change from run to run, and activations, have to be packed in each run.  A job of its own for that writes all panels to memory,
from where the product reads them again; here each task packs a panel into its thread's scratch memory, where it is near, and multiplies it
with all rows before it packs the next.  Microseconds on two cores of AMD Zen 3, float32, interleaved minima, with a job of its own and
without:

    64x784 times 784x512, columns    64x512 times 512x784, rows    1024x256 times 256x1024    1024x1024 times 1024x256, rows
            502    444                       458    376                    3411    3401                   3304    3138
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.tensors import ALIGNMENT
from ttc.runtime.engines.native.kernels.gemm import Gemm
from ttc.runtime.engines.native.kernels.gemm_block import Ahead, fetches_panels
from ttc.runtime.engines.native.kernels.packing import PackColumns, PackRows

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer
    from ttc.runtime.engines.native.kernels.words import Words


@dataclass(frozen=True)
class PackingGemm(Gemm):
    """The kernel of products that pack b themselves: c = region(a b, others...), with b as rows, or columns, as it lies.

    Args:
        packing: how panels are made of it; without batch, for multiplier f32.

    Words: those of Gemm, and `line`, see `Packing`.  Panels are the outer loop of all tasks, and rows are not cut into chunks.
    """

    packing: PackRows | PackColumns = PackRows(8, 8, "f32")

    @property
    def names(self) -> tuple[str, ...]:
        return (*super().names, "line")

    def panel_bytes(self, depth: int) -> int:
        """Return bytes of a panel in scratch memory."""
        return -(-depth * self.block.columns * 4 // ALIGNMENT) * ALIGNMENT

    def scratch_bytes(self, depth: int, taps: int) -> int:
        return self.panel_bytes(depth) + super().scratch_bytes(depth, taps)

    def tile(self, f: Writer, words: Words) -> Value:
        """Return the address of the block of results in scratch memory, behind the panel."""
        size = (words["depth"] * (self.block.columns * 4) + (ALIGNMENT - 1)) // ALIGNMENT * ALIGNMENT
        return f.at(f.scratch, size, "i8")

    def begin_block(self, f: Writer, words: Words, bases: dict[str, Value], panel: Value, number: Value) -> None:
        with f.when(number.equals(0)):
            self.packing.emit_panel(f, words, panel, bases["b"], f.scratch)

    def right(
        self, f: Writer, words: Words, bases: dict[str, Value], panel: Value, turn: tuple[Value, Value] | None
    ) -> tuple[Value, Ahead | None]:
        if turn is None or not fetches_panels(f.cpu):
            return f.scratch, None
        return f.scratch, Ahead(*self.packing.ahead(f, words, panel + 1, bases["b"], turn[0]))
