"""Normalizations of rows: mean and variance in two passes over a row that stays in the first-level cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.lines import over_columns
from ttc.runtime.engines.native.kernels.words import Words, bases_at, batch_names

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

_UNROLLED = 4
"""Vectors whose sums are taken side by side."""
_PART = 4096
"""Elements of a part of a sum; parts are added in float64."""
Add: TypeAlias = "Callable[[Value, Value], Value]"
"""(sum so far, elements) -> sum."""


@dataclass(frozen=True)
class NormRows(JobKernel):
    """Normalizes a row a task: y = (x - mean x) / sqrt(mean (x - mean x)^2 + eps) * scale + bias, in float32.

    Args:
        source, target: element types of x and y.
        centered: whether the mean is taken away (layer norm), or not (root-mean-square norm).
        scale, bias: element types; None where there is none.
        spread: for scale and bias, whether a row has but one element of it.
        lead: dimensions of the places of rows.

    Words: `names`; strides in bytes.
    """

    source: Storage
    target: Storage
    centered: bool
    scale: Storage | None
    bias: Storage | None
    spread: tuple[bool, bool]
    lead: int

    @property
    def tensors(self) -> tuple[str, ...]:
        """The names of the tensors that the kernel reads and writes."""
        others = (name for name, storage in (("scale", self.scale), ("bias", self.bias)) if storage is not None)
        return ("x", "y", *others)

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.tensors, "length", "eps", *batch_names(self.tensors, self.lead))

    def emit_job(self, f: Writer, words: Words) -> None:
        length, eps = words["length"], words.real("eps")
        sums = RowSums(f)
        with f.loop(f.begin, f.end) as place:
            bases = dict(zip(self.tensors, bases_at(f, words, self.tensors, self.lead, place), strict=True))
            row = bases["x"]
            count = f.converted(length, "f64")
            center = f.constant(0.0, "f32")
            if self.centered:
                center = f.converted(sums.emit(row, self.source, length, lambda sum_, x: sum_ + x) / count, "f32")
            square = f.converted(sums.emit(row, self.source, length, lambda sum_, x: self._square(f, sum_, x, center)) / count, "f32")
            self._finish(f, bases, length, center, 1.0 / f.unary("sqrt", square + eps))
            self.end_row(f, words, bases, place)

    def end_row(self, f: Writer, words: Words, bases: dict[str, Value], place: Value) -> None:
        """Emit what follows once a row is written.  bases: addresses of the tensors' rows.  place: number of the row."""

    def _square(self, f: Writer, sum_: Value, x: Value, center: Value) -> Value:
        distance = x - center if self.centered else x
        return f.fma(distance, distance, sum_)

    def _finish(self, f: Writer, bases: dict[str, Value], length: Value, center: Value, factor: Value) -> None:
        """Write a normalized row of y: scaled and shifted."""
        others: dict[str, tuple[Storage | None, bool]] = {"scale": (self.scale, self.spread[0]), "bias": (self.bias, self.spread[1])}
        single = {name: f.read(bases[name], s) for name, (s, spread) in others.items() if s is not None and spread}

        def other(name: str, column: Value, lanes: int, mask: Value | None) -> Value | None:
            storage, _ = others[name]
            if storage is None:
                return None
            return single[name] if name in single else f.read(f.at(bases[name], column, storage), storage, lanes, mask)

        def vector(column: Value, lanes: int, mask: Value | None) -> None:
            x = f.read(f.at(bases["x"], column, self.source), self.source, lanes, mask)
            found = (x - center if self.centered else x) * factor
            scale, bias = other("scale", column, lanes, mask), other("bias", column, lanes, mask)
            found = found if scale is None else found * scale
            f.write(found if bias is None else found + bias, f.at(bases["y"], column, self.target), self.target, mask)

        over_columns(f, f.constant(0, "i64"), length, vector)


class RowSums:
    """Adds up dense rows side by side in several vectors, in parts of bounded length."""

    def __init__(self, f: Writer) -> None:
        self._f = f
        self._sums = [f.variable(f.constant(0.0, "f32", f.lanes)) for _ in range(_UNROLLED)]
        self._single = f.variable(f.constant(0.0, "f32"))
        self._total = f.variable(f.constant(0.0, "f64"))

    def emit(self, row: Value, storage: Storage, length: Value, add: Add) -> Value:
        """Return the sum over elements of a row, as a float64."""
        f = self._f
        self._total.set(0.0)
        with f.loop(0, length, _PART) as first:
            part = self._part(row, storage, (first, f.smaller(first + _PART, length)), add)
            self._total.set(self._total.get() + f.converted(part, "f64"))
        return self._total.get()

    def _part(self, row: Value, storage: Storage, span: tuple[Value, Value], add: Add) -> Value:
        f, (first, last) = self._f, span
        for sum_ in (*self._sums, self._single):
            sum_.set(0.0)
        step = f.lanes * _UNROLLED
        whole = first + (last - first) // step * step
        with f.loop(first, whole, step) as column:
            for i, sum_ in enumerate(self._sums):
                sum_.set(add(sum_.get(), f.read(f.at(row, column + i * f.lanes, storage), storage, f.lanes)))

        def rest(column: Value, lanes: int, mask: Value | None) -> None:
            sum_ = self._single if lanes == 1 else self._sums[0]
            found = add(sum_.get(), f.read(f.at(row, column, storage), storage, lanes, mask))
            sum_.set(found if mask is None else f.select(mask, found, sum_.get()))

        over_columns(f, whole, last, rest)
        first_half, second_half = (a.get() + b.get() for a, b in zip(self._sums[::2], self._sums[1::2], strict=True))
        return f.folded("add", first_half + second_half) + self._single.get()
