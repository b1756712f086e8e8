"""Convolutions of images whose few channels lie as planes, such as the first layer of a network for pictures meets.

The lines of all channels that a row of windows meets are copied into the first-level cache, between zeros.  There each tap of each window
is one element at a known distance, which is multiplied by vectors of results.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.pixels import Pixels
from ttc.runtime.engines.native.kernels.windows import WindowBlock, axis_names, rounded_up
from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer


@dataclass(frozen=True)
class PlaneWindows(JobKernel):
    """y[n, h, w, o] = region(sum over c, i, j of x[n, h * sh + i * dh - top, w * sw + j * dw - left, c] * filter[i, j, c, o], others...).

    Args:
        block: windows that are computed together, its lanes those of a vector of results.
        vectors: of results that are computed together.
        source: element type of x, of which a line's elements lie one after the other.
        pixels: the result.

    The filter is float32, and dense.  Tasks: (image, row of windows).  Words: `names`; strides in bytes, `pitch` and `copied` in elements
    of a line in the cache, and of those that are copied there.  Scratch: `scratch_bytes`.
    """

    block: WindowBlock
    vectors: int
    source: Storage
    pixels: Pixels

    @property
    def names(self) -> tuple[str, ...]:
        x = ("source", "source_image", "source_y", "source_channel", "channels", "pitch", "copied")
        return (*x, *axis_names("y"), *axis_names("x"), "filter", "results", *self.pixels.names)

    def scratch_bytes(self, channels: int, pitch: int) -> int:
        """Return the bytes of scratch memory that one thread needs, given the words of these names."""
        return self.block.tile_bytes + rounded_up(channels * self.block.taps[0] * pitch * 4)

    def emit_job(self, f: Writer, words: Words) -> None:
        block, height = self.block, self.block.taps[0]
        tile, lines = f.scratch, f.at(f.scratch, self.block.tile_bytes, "i8")
        count, rows, across = words["channels"] * height, words["y_windows"], words["x_windows"]
        before, copied = words["x_before"], words["copied"]
        with f.loop(0, count) as line, f.loop(0, words["pitch"] - copied) as i:
            margin = line * words["pitch"] + f.select(i < before, i, i + copied)
            f.store(f.constant(0.0, "f32"), f.at(lines, margin, "f32"))
        with f.loop(f.begin, f.end) as task:
            image, y = task // rows, task % rows
            source = f.at(words.pointer("source"), image * words["source_image"], "i8")
            top = y * words["y_stride"] - words["y_before"]
            with f.loop(0, count) as line:
                place = f.at(source, line // height * words["source_channel"], "i8")
                self._copy_line(f, words, (place, top + line % height * words["y_dilation"]), f.at(lines, line * words["pitch"], "f32"))
            span = block.lanes * self.vectors
            with f.loop(0, words["results"], span) as result, f.loop(0, across, block.windows) as start:
                x = f.smaller(start, across - block.windows)
                channels = [f.smaller(result + v * block.lanes, words["results"] - block.lanes) for v in range(self.vectors)]
                bases = self.pixels.bases(f, words, (image, y, x))
                sums = self._sums(f, words, f.at(lines, x * block.stride, "f32"), channels)
                for channel, values in zip(channels, sums, strict=True):
                    self.pixels.emit(f, words, bases, values, channel, tile)

    def _copy_line(self, f: Writer, words: Words, where: tuple[Value, Value], target: Value) -> None:
        """Copy a line of a plane behind the zeros before it; zeros, if it is outside the image.  where: plane, number of the line."""
        plane, y = where
        source, inner = f.at(plane, y * words["source_y"], "i8"), f.at(target, words["x_before"], "f32")
        whole = words["copied"] // f.lanes * f.lanes

        def copy(start: Value, lanes: int) -> None:
            f.store(f.converted(f.read(f.at(source, start, self.source), self.source, lanes), "f32"), f.at(inner, start, "f32"))

        with f.choice(y.is_within(words["y_size"])) as (inside, outside):
            with inside:
                with f.loop(0, whole, f.lanes) as start:
                    copy(start, f.lanes)
                with f.loop(whole, words["copied"]) as start:
                    copy(start, 1)
            with outside, f.loop(0, words["copied"]) as i:
                f.store(f.constant(0.0, "f32"), f.at(inner, i, "f32"))

    def _sums(self, f: Writer, words: Words, lines: Value, channels: list[Value]) -> list[list[Value]]:
        """Return the sums of each vector of results, one for each window.  lines: the first element of the block's first line."""
        block, lanes = self.block, self.block.lanes
        height, width = block.taps
        sums = [[f.variable(f.constant(0.0, "f32", lanes)) for _ in range(block.windows)] for _ in channels]
        channel_count, results = words["channels"], words["results"]
        with f.loop(0, channel_count) as c, f.loop(0, height) as i:
            line = f.at(lines, (c * height + i) * words["pitch"], "f32")
            for tap in range(width):
                row = f.at(words.pointer("filter"), ((i * width + tap) * channel_count + c) * results, "f32")
                weights = [f.load(f.at(row, channel, "f32"), "f32", lanes) for channel in channels]
                for window in range(block.windows):
                    element = f.spread(f.load(f.at(line, window * block.stride + tap * block.dilation, "f32"), "f32"), lanes)
                    for total, weight in zip((one[window] for one in sums), weights, strict=True):
                        total.set(f.fma(element, weight, total.get()))
        return [[total.get() for total in one] for one in sums]
