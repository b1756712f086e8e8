"""The last step of convolutions of few results: sums of what neighbouring pixels give to a window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.kernels.windows import WindowKernel
from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer


@dataclass(frozen=True)
class ShiftedSums(WindowKernel):
    """Computes the sum over taps j of a row of x[n, h, w * stride + j * dilation - before, j, c]; nothing is added outside the image."""

    def neutral(self, f: Writer) -> Value:
        return f.constant(0, self.source)

    def outside(self, words: Words) -> Value:
        return words["channels"] * self.block.taps[1]

    def scratch_bytes(self, channels: int) -> int:
        return super().scratch_bytes(channels * self.block.taps[1])

    def values(self, f: Writer, words: Words, table: Value, channel: Value) -> list[Value]:
        """Read every tap's element once, and add it for its window."""
        block = self.block
        sums = [f.variable(f.constant(0.0, "f32", block.lanes)) for _ in range(block.windows)]
        for k, column in enumerate(block.columns):
            pixel = f.load(f.at(table, k, "ptr"), "ptr")
            for window, tap in block.meets(column):
                place = f.at(pixel, words["channels"] * tap + channel, self.source)
                sums[window].set(sums[window].get() + f.converted(f.read(place, self.source, block.lanes), "f32"))
        return [total.get() for total in sums]
