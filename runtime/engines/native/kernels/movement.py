"""Kernels that move elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.kernel import Kernel
from ttc.runtime.engines.native.storage import Storage

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer


@dataclass(frozen=True)
class CopyRows(Kernel):
    """Copies a strided tensor into another: row by row, a task a row.

    Words: source, target, elements of a row, source stride in a row, target stride in a row, then (size, source stride, target stride)
    of each of the `outer` dimensions, the slowest first; strides in elements.
    """

    source: Storage
    target: Storage
    outer: int
    dense: bool
    """Whether rows are dense in both."""

    def emit(self, f: Writer) -> None:
        source, target, length = f.pointer(0), f.pointer(1), f.word(2)
        with f.loop(f.begin, f.end) as task:
            x, y = self._row(f, task, source, target)
            if self.dense:
                self._vectors(f, x, y, length)
            else:
                from_stride, to_stride = f.word(3), f.word(4)
                with f.loop(0, length) as i:
                    value = f.read(f.at(x, i * from_stride, self.source), self.source)
                    f.write(value, f.at(y, i * to_stride, self.target), self.target)

    def _row(self, f: Writer, task: Value, source: Value, target: Value) -> tuple[Value, Value]:
        rest, x, y = task, source, target
        for number in reversed(range(self.outer)):
            size, from_stride, to_stride = (f.word(5 + 3 * number + i) for i in range(3))
            index = rest % size
            rest = rest // size
            x, y = f.at(x, index * from_stride, self.source), f.at(y, index * to_stride, self.target)
        return x, y

    def _vectors(self, f: Writer, x: Value, y: Value, length: Value) -> None:
        whole = length - length % f.lanes
        with f.loop(0, whole, f.lanes) as i:
            f.write(f.read(f.at(x, i, self.source), self.source, f.lanes), f.at(y, i, self.target), self.target)
        with f.loop(whole, length) as i:
            f.write(f.read(f.at(x, i, self.source), self.source), f.at(y, i, self.target), self.target)
