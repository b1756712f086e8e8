"""Softmax and its logarithm, of lines: the largest element, the sum of exponentials, the quotients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.kernels.lines import Line, LineKernel, over_columns
from ttc.runtime.engines.native.kernels.reduce import folded, limit

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer
    from ttc.runtime.engines.native.kernels.words import Words

_UNROLLED = 4
"""Vectors of which the largest elements are found side by side."""
_PART = 4096
"""Elements of a part of a sum; parts are added in float64."""


@dataclass(frozen=True)
class Softmax(LineKernel):
    """Computes y = exp(x - max x) / sum exp(x - max x), in float32.

    Args:
        logarithm: y = x - max x - ln sum exp(x - max x) instead.

    Scratch: `scratch_bytes`; exponentials wait there, where y cannot hold them as they are.
    """

    logarithm: bool

    def scratch_bytes(self, length: int, lanes: int) -> int:
        """Return the bytes of scratch memory that one thread needs."""
        if self.across:
            return 4 * length * lanes
        return 0 if self.logarithm or self.target == "f32" else 4 * length

    def emit_row(self, f: Writer, words: Words, x: Value, y: Value) -> None:
        zero, length = f.constant(0, "i64"), words["length"]
        top = self._top_of_row(f, x, length)
        sums = [f.variable(f.constant(0.0, "f32", lanes)) for lanes in (f.lanes, 1)]
        total = f.variable(f.constant(0.0, "f64"))
        total.set(0.0)
        waiting = y if self.target == "f32" else f.scratch

        def add(column: Value, lanes: int, mask: Value | None) -> None:
            value = f.exp(f.read(f.at(x, column, self.source), self.source, lanes, mask) - top)
            if not self.logarithm:
                f.write(value, f.at(waiting, column, "f32"), "f32", mask)
            into = sums[lanes == 1]
            into.set(into.get() + (value if mask is None else f.select(mask, value, 0.0)))

        with f.loop(0, length, _PART) as first:
            for part in sums:
                part.set(0.0)
            over_columns(f, first, f.smaller(first + _PART, length), add)
            total.set(total.get() + f.converted(f.folded("add", sums[0].get()) + sums[1].get(), "f64"))
        sum_ = f.converted(total.get(), "f32")
        factor = f.log(sum_) if self.logarithm else 1.0 / sum_

        def finish(column: Value, lanes: int, mask: Value | None) -> None:
            if self.logarithm:
                found = f.read(f.at(x, column, self.source), self.source, lanes, mask) - top - factor
            else:
                found = f.load(f.at(waiting, column, "f32"), "f32", lanes, mask) * factor
            f.write(found, f.at(y, column, self.target), self.target, mask)

        over_columns(f, zero, length, finish)

    def _top_of_row(self, f: Writer, x: Value, length: Value) -> Value:
        """Return the largest element; a NaN may be left out: it makes the sum one."""
        tops = [f.variable(limit(f, self.source, True, f.lanes)) for _ in range(_UNROLLED)]
        single = f.variable(limit(f, self.source, True, 1))
        for top in (*tops, single):
            top.set(limit(f, self.source, True, top.type.lanes))
        step = f.lanes * _UNROLLED
        whole = length // step * step
        with f.loop(0, whole, step) as column:
            for i, top in enumerate(tops):
                top.set(f.larger(f.read(f.at(x, column + i * f.lanes, self.source), self.source, f.lanes), top.get()))

        def compare(column: Value, lanes: int, mask: Value | None) -> None:
            into = single if lanes == 1 else tops[0]
            value = f.read(f.at(x, column, self.source), self.source, lanes, mask)
            value = value if mask is None else f.select(mask, value, float("-inf"))
            into.set(f.larger(value, into.get()))

        over_columns(f, whole, length, compare)
        first, second, third, fourth = (top.get() for top in tops)
        return f.larger(folded(f, f.larger(f.larger(first, second), f.larger(third, fourth)), f.larger), single.get())

    def emit_lines(self, line: Line) -> None:
        """Compute neighbouring lines by way of scratch memory: in x, each line may displace the next from all caches."""
        f, lanes = line.f, line.lanes
        least, zero = limit(f, self.source, True, lanes), f.constant(0.0, "f32", lanes)
        top, sum_ = f.variable(least), f.variable(zero)
        top.set(least)
        sum_.set(zero)

        def waiting(index: Value) -> Value:
            return f.at(f.scratch, index * lanes, "f32")

        with f.loop(0, line.length) as i:
            value = f.read(line.x_at(i), self.source, lanes, line.mask)
            f.store(value, waiting(i))
            top.set(f.larger(value, top.get()))
        with f.loop(0, line.length) as i:
            distance = f.load(waiting(i), "f32", lanes) - top.get()
            value = f.exp(distance)
            sum_.set(sum_.get() + value)
            f.store(distance if self.logarithm else value, waiting(i))
        factor = f.log(sum_.get()) if self.logarithm else 1.0 / sum_.get()
        with f.loop(0, line.length) as i:
            value = f.load(waiting(i), "f32", lanes)
            f.write(value - factor if self.logarithm else value * factor, line.y_at(i), self.target, line.mask)
