"""Weighted sums of rows at fixed places: one dimension of an image sampled anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

_UNROLLED = 6
"""Taps up to which their loop is unrolled."""


@dataclass(frozen=True)
class Resample(JobKernel):
    """Computes y[n, i, :] = sum over k of weights[i, k] x[n, places[i, k], :], products rounded before they are added.

    Args:
        source, target: element types; the weights are float64 if the source is, else float32.
        taps: k.
        lanes: elements of a vector; at most those of a row.

    A task is a row.  Words: `names`; `places` are i64, `rows`: i; y and the tables are dense, and so are the rows of x, at strides in
    elements.
    """

    source: Storage
    target: Storage
    taps: int
    lanes: int

    @property
    def names(self) -> tuple[str, ...]:
        return ("source", "places", "weights", "target", "rows", "columns", "source_batch", "source_row")

    def emit_job(self, f: Writer, words: Words) -> None:
        """Emit the weighted sums of samples; see `JobKernel.emit_job`."""
        number: Storage = "f64" if self.source == "f64" else "f32"
        columns = words["columns"]
        with f.loop(f.begin, f.end) as task:
            batch, row = task // words["rows"], task % words["rows"]
            image = f.at(words.pointer("source"), batch * words["source_batch"], self.source)
            places, weights = f.at(words.pointer("places"), row * self.taps, "i64"), f.at(words.pointer("weights"), row * self.taps, number)
            y = f.at(words.pointer("target"), task * columns, self.target)
            with f.loop(0, columns, self.lanes) as start:
                c = f.smaller(start, columns - self.lanes)
                total = f.variable(f.constant(0.0, number, self.lanes))

                def add(k: Value, c: Value = c) -> None:
                    place = f.load(f.at(places, k, "i64"), "i64")
                    value = f.read(f.at(image, place * words["source_row"] + c, self.source), self.source, self.lanes)
                    total.set(total.get() + value * f.load(f.at(weights, k, number), number))

                if self.taps <= _UNROLLED:
                    for k in range(self.taps):
                        add(f.constant(k, "i64"))
                else:
                    with f.loop(0, self.taps) as k:
                        add(k)
                f.write(total.get(), f.at(y, c, self.target), self.target)
