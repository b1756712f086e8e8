"""Depthwise convolutions: each channel of an image with a filter of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ttc.runtime.engines.native.kernels.windows import Visit, WindowKernel, emit_elements
from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer


@dataclass(frozen=True)
class Depthwise(WindowKernel):
    """Computes the sum over taps i, j of x * filter[i, j, c]. The filter is float32, and dense."""

    OWN: ClassVar[tuple[str, ...]] = ("filter",)

    def neutral(self, f: Writer) -> Value:
        return f.constant(0, self.source)

    def values(self, f: Writer, words: Words, table: Value, channel: Value) -> list[Value]:
        """Read every element once, and multiply it for all windows that meet it."""
        block = self.block
        channels, filter_ = words["channels"], f.at(words.pointer("filter"), channel, "f32")
        sums = [f.variable(f.constant(0.0, "f32", block.lanes)) for _ in range(block.windows)]

        def row(i: Value) -> Visit:
            wide = block.taps[1]
            taps = [f.load(f.at(filter_, (i * wide + j) * channels, "f32"), "f32", block.lanes) for j in range(wide)]
            return lambda window, tap, value: sums[window].set(f.fma(f.converted(value, "f32"), taps[tap], sums[window].get()))

        emit_elements(f, block, self.source, table, channel, row)
        return [total.get() for total in sums]
