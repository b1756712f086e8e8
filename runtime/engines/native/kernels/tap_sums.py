"""Gradients of the filters of depthwise convolutions: for each tap, the sum over pixels of what it met times what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.windows import axis_names
from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer


@dataclass(frozen=True)
class TapSums(JobKernel):
    """y[k, l, c] = sum over i, j of x[k * sh + i * dh - top, l * sw + j * dw - left, c] * w[i, j, c]; nothing is added outside x.

    Args:
        vectors: channels that are summed together, in vectors of `lanes`; no more than there are.
        lanes: float32 of a vector.
        source, filter: element types of x and w.

    Tasks: (vectors of channels, row of y).  Words: `names`; strides in bytes; `y_taps` and `x_taps`: of w.  y is float32, and dense.
    Scratch: `scratch_bytes`.
    """

    vectors: int
    lanes: int
    source: Storage
    filter: Storage

    @property
    def names(self) -> tuple[str, ...]:
        strides = ("source_y", "source_x", "filter_y", "filter_x")
        return ("source", "filter", "target", *strides, "channels", "y_taps", "x_taps", *axis_names("y"), *axis_names("x"))

    @property
    def width(self) -> int:
        """The channels that are summed together."""
        return self.vectors * self.lanes

    def scratch_bytes(self, windows: int) -> int:
        """Return the bytes of scratch memory that one thread needs, for so many columns of y."""
        return windows * self.width * 4

    def emit_job(self, f: Writer, words: Words) -> None:
        rows, columns, channels = words["y_windows"], words["x_windows"], words["channels"]
        with f.loop(f.begin, f.end) as task:
            row = task % rows
            channel = f.smaller(task // rows * self.width, channels - self.width)
            with f.loop(0, columns * self.width, self.lanes) as i:
                f.store(f.constant(0.0, "f32", self.lanes), f.at(f.scratch, i, "f32"))
            with f.loop(0, words["y_taps"]) as tap:
                y = row * words["y_stride"] + tap * words["y_dilation"] - words["y_before"]
                with f.when(y.is_within(words["y_size"])):
                    lines = (
                        f.at(f.at(words.pointer("source"), y * words["source_y"], "i8"), channel, self.source),
                        f.at(f.at(words.pointer("filter"), tap * words["filter_y"], "i8"), channel, self.filter),
                    )
                    with f.loop(0, columns) as column:
                        self._emit_line(f, words, lines, column)
            target = f.at(words.pointer("target"), row * columns * channels + channel, "f32")
            with f.loop(0, columns) as column:
                for i in range(0, self.width, self.lanes):
                    total = f.load(f.at(f.scratch, column * self.width + i, "f32"), "f32", self.lanes)
                    f.store(total, f.at(target, column * channels + i, "f32"))

    def _emit_line(self, f: Writer, words: Words, lines: tuple[Value, Value], column: Value) -> None:
        """Add the products of a row of x and a row of w to the sums of a column of y: each row is summed by itself, which rounds less."""
        dilation, taps = words["x_dilation"], words["x_taps"]
        start = column * words["x_stride"] - words["x_before"]
        first = f.larger(dilation - 1 - start, 0) // dilation
        last = f.smaller(f.larger(words["x_size"] + (dilation - 1) - start, 0) // dilation, taps)
        sums = f.at(f.scratch, column * self.width, "f32")
        totals = [f.variable(f.constant(0.0, "f32", self.lanes)) for _ in range(self.vectors)]
        with f.loop(first, last) as tap:
            x = f.at(lines[0], (start + tap * dilation) * words["source_x"], "i8")
            w = f.at(lines[1], tap * words["filter_x"], "i8")
            for i, total in zip(range(0, self.width, self.lanes), totals, strict=True):
                met, became = (
                    f.read(f.at(x, i, self.source), self.source, self.lanes),
                    f.read(f.at(w, i, self.filter), self.filter, self.lanes),
                )
                total.set(f.fma(f.converted(met, "f32"), f.converted(became, "f32"), total.get()))
        for i, total in zip(range(0, self.width, self.lanes), totals, strict=True):
            place = f.at(sums, i, "f32")
            f.store(f.load(place, "f32", self.lanes) + total.get(), place)
