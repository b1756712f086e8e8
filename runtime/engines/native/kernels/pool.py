"""Pools: the largest element, or the mean, of each window of each channel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ttc.runtime.engines.native.graph.storage import STORAGE_BYTES
from ttc.runtime.engines.native.kernels.windows import BlockPlace, Visit, WindowKernel, emit_elements
from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer


@dataclass(frozen=True)
class MaxPool(WindowKernel):
    """Computes the largest element of windows; NaN if there is one."""

    def neutral(self, f: Writer) -> Value:
        return f.narrowed(self._lowest(f, 1), self.source)

    def _lowest(self, f: Writer, lanes: int) -> Value:
        dtype = "f32" if self.source in ("bf16", "f16") else self.source
        if dtype in ("f32", "f64"):
            return f.constant(float("-inf"), dtype, lanes)
        bits = 8 * STORAGE_BYTES[dtype]
        return f.constant(0 if dtype.startswith("u") else -(1 << (bits - 1)), dtype, lanes)

    def values(self, f: Writer, words: Words, table: Value, channel: Value) -> list[Value]:
        """Read every element once, and compare it for all windows that meet it."""

        def join(found: Value, value: Value) -> Value:
            larger = f.larger(value, found)
            return f.select(value.differs(value), value, larger) if value.type.is_float else larger

        return _combined(self, f, table, channel, self._lowest(f, self.block.lanes), join)


@dataclass(frozen=True)
class AveragePool(WindowKernel):
    """Computes the mean of windows: the sum over the number of taps in the image and `margins` of padding, at least 1."""

    OWN: ClassVar[tuple[str, ...]] = ("y_first", "y_last", "x_first", "x_last")
    """The range of rows and columns that count, the last one excluded; they may lie outside the image."""

    def neutral(self, f: Writer) -> Value:
        return f.constant(0, self.source)

    def prepare(self, f: Writer, words: Words, place: BlockPlace, memory: Value) -> None:
        rows = self._count(f, words, "y", place.y)
        for window in range(self.block.windows):
            columns = self._count(f, words, "x", place.x + window)
            f.store(f.converted(rows * columns, "f64"), f.at(memory, window, "f64"))

    def _count(self, f: Writer, words: Words, axis: str, window: Value) -> Value:
        """Taps of a window that count."""
        dilation = words[f"{axis}_dilation"]
        start = window * words[f"{axis}_stride"] - words[f"{axis}_before"]
        taps = self.block.taps[0 if axis == "y" else 1]

        def before(end: Value) -> Value:
            return f.smaller((f.larger(end - start, 0) + (dilation - 1)) // dilation, taps)

        return f.larger(before(words[f"{axis}_last"]) - before(words[f"{axis}_first"]), 1)

    def values(self, f: Writer, words: Words, table: Value, channel: Value) -> list[Value]:
        """Read every element once, and add it for all windows that meet it."""
        dtype = "f64" if self.source == "f64" else "f32"
        counts = f.at(table, self.block.elements, "ptr")
        sums = _combined(self, f, table, channel, f.constant(0.0, dtype, self.block.lanes), lambda found, value: found + value)
        return [total / f.converted(f.load(f.at(counts, i, "f64"), "f64"), dtype) for i, total in enumerate(sums)]


def _combined(
    kernel: WindowKernel, f: Writer, table: Value, channel: Value, first: Value, join: Callable[[Value, Value], Value]
) -> list[Value]:
    """Return all elements of each window, joined one after the other to the first value."""
    found = [f.variable(first) for _ in range(kernel.block.windows)]

    def row(_: Value) -> Visit:
        return lambda window, tap, value: found[window].set(join(found[window].get(), value))

    emit_elements(f, kernel.block, kernel.source, table, channel, row)
    return [variable.get() for variable in found]
