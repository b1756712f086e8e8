"""Convolutions of few channels a group: each result of a channel meets all channels of its group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ttc.runtime.engines.native.kernels.windows import WindowKernel
from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer


@dataclass(frozen=True)
class Grouped(WindowKernel):
    """Computes the sum over taps i, j and channels g of a group of x * filter[i, g, j, c]; as many results as channels a group.

    Args:
        group: channels of a group: so many that vectors hold whole groups, or groups whole vectors.

    The filter is float32, dense, and in vectors: [channels / lanes, taps of the height, group, taps of the width, lanes].
    """

    OWN: ClassVar[tuple[str, ...]] = ("filter",)
    group: int

    def neutral(self, f: Writer) -> Value:
        return f.constant(0, self.source)

    def values(self, f: Writer, words: Words, table: Value, channel: Value) -> list[Value]:
        """Spread each channel of the group in turn over the results of its group, and multiply it for all windows that meet it."""
        block, columns = self.block, self.block.columns
        height, width = block.taps
        sums = [f.variable(f.constant(0.0, "f32", block.lanes)) for _ in range(block.windows)]
        filter_ = f.at(words.pointer("filter"), channel * (height * self.group * width), "f32")
        with f.loop(0, height) as i:
            entries = f.at(table, i * len(columns), "ptr")
            pixels = [f.load(f.at(entries, k, "ptr"), "ptr") for k in range(len(columns))]

            def add(member: int | Value) -> None:
                taps = f.at(filter_, (i * self.group + member) * (width * block.lanes), "f32")
                weights = [f.load(f.at(taps, j * block.lanes, "f32"), "f32", block.lanes) for j in range(width)]
                for pixel, column in zip(pixels, columns, strict=True):
                    value = self._spread(f, pixel, channel, member)
                    for window, tap in block.meets(column):
                        sums[window].set(f.fma(value, weights[tap], sums[window].get()))

            if self.group < block.lanes:
                for member in range(self.group):
                    add(member)
            else:
                with f.loop(0, self.group) as member:
                    add(member)
        return [total.get() for total in sums]

    def _spread(self, f: Writer, pixel: Value, channel: Value, member: int | Value) -> Value:
        """Return a channel of the group in all lanes of its group; given as a number where a vector holds several groups."""
        lanes, group = self.block.lanes, self.group
        if isinstance(member, int):
            value = f.read(f.at(pixel, channel, self.source), self.source, lanes)
            return f.converted(f.shuffled(value, value, [lane // group * group + member for lane in range(lanes)]), "f32")
        value = f.read(f.at(pixel, channel // group * group + member, self.source), self.source)
        return f.spread(f.converted(value, "f32"), lanes)
