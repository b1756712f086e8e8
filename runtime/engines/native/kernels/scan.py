"""Cumulative sums and products of lines, element after element."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ttc.runtime.engines.native.kernels.lines import Line, LineKernel

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer
    from ttc.runtime.engines.native.kernels.words import Words


@dataclass(frozen=True)
class Scan(LineKernel):
    """Computes cumulative sums y[i] = x[0] + ... + x[i], or products.

    Args:
        fn: which.
        exclusive: without x[i].
        reverse: from the end.
    """

    fn: Literal["sum", "prod"]
    exclusive: bool
    reverse: bool

    def emit_row(self, f: Writer, words: Words, x: Value, y: Value) -> None:
        self.emit_lines(Line(f, words, x, y, 1, None))

    def emit_lines(self, line: Line) -> None:
        from ttc.runtime.engines.native.ir.regions import computed_type, landed

        f = line.f
        start = f.constant(int(self.fn == "prod"), computed_type(self.source), line.lanes)
        total = f.variable(start)
        total.set(start)
        with f.loop(0, line.length) as i:
            index = line.length - 1 - i if self.reverse else i
            before = total.get()
            value = f.read(line.x_at(index), self.source, line.lanes, line.mask)
            after = before + value if self.fn == "sum" else before * value
            total.set(after)
            f.write(landed(f, before if self.exclusive else after, self.target), line.y_at(index), self.target, line.mask)
