"""Operands of products of scaled integers: rows and panels (see `scaled_parts`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.operands import TENSORS, RowKernel
from ttc.runtime.engines.native.kernels.packing import transposed
from ttc.runtime.engines.native.kernels.scaled_parts import RUN, WORDS, Scale, as_integers, inverse_of, runs_of, scale_of, top_of
from ttc.runtime.engines.native.kernels.shares import Count
from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import LocalVariable, Value
    from ttc.runtime.engines.native.ir.writer import Writer


def row_words(depth: Count) -> Count:
    """Return the words of 4 bytes of a row: as many as it has channels, whole runs, and a scale a run."""
    return runs_of(depth) * (RUN + 1)


def panel_words(depth: Count, taps: Count, columns: int) -> Count:
    """Return the words of 4 bytes of a panel, for so many taps of so many channels each."""
    return taps * runs_of(depth) * (WORDS + 1) * columns


@dataclass(frozen=True)
class ScaleRows(RowKernel):
    """Rows of channels as scaled integers: all channels', filled up with zeros to whole runs, and as many bytes that are not used; then the
    runs' scales.  Where a run cannot be scaled, the row's numbers lie there as float32, and its first scale is NaN.

    lanes: float32 of a vector.
    """

    lanes: int

    def written_bytes(self, depth: int) -> int:
        return runs_of(depth) * (RUN * 2 + 4)

    def emit_row(self, f: Writer, depth: Value, source: Value, target: Value) -> None:
        """Scale a row, as many runs at a time as a vector has lanes."""
        runs = runs_of(depth)
        scales = f.at(target, runs * RUN, "f32")
        wild = f.variable(f.constant(0, "i1"))
        group = self.lanes * RUN
        whole = depth // group * group
        for first, last, masked in ((0, whole, False), (whole, depth, True)):
            with f.loop(first, last, group) as k:
                numbers = self._numbers(f, f.at(source, k, self.source), depth - k if masked else None)
                scale = self._scale(f, numbers)
                left = runs - k // RUN
                f.store(scale.step, f.at(scales, k // RUN, "f32"), f.mask(left, self.lanes) if masked else None)
                wild.set(wild.get() | f.folded("or", scale.wild))
                for i, run in enumerate(numbers):
                    place = f.at(target, k + i * RUN, "i16")
                    if not masked:
                        self._store(f, run, f.lane(scale.factor, i), place)
                        continue
                    with f.when(left > i):
                        self._store(f, run, f.lane(scale.factor, i), place)
        with f.when(wild.get()):
            with f.loop(0, depth) as k:
                f.store(f.read(f.at(source, k, self.source), self.source), f.at(target, k, "f32"))
            f.store(f.constant(float("nan"), "f32"), scales)

    def _numbers(self, f: Writer, source: Value, count: Value | None) -> list[list[Value]]:
        """The vectors of runs: of all channels, or of so many and zeros."""
        starts = [[run * RUN + i for i in range(0, RUN, self.lanes)] for run in range(self.lanes)]

        def read(start: int) -> Value:
            mask = None if count is None else f.mask(count - start, self.lanes)
            return f.read(f.at(source, start, self.source), self.source, self.lanes, mask)

        return [[read(start) for start in run] for run in starts]

    def _scale(self, f: Writer, runs: list[list[Value]]) -> Scale:
        """The scales of runs, one in each lane."""
        top = reduce(f.larger, transposed(f, [top_of(f, run) for run in runs]))
        inverse = inverse_of(f, top)
        squares: list[Value] = []
        for i, run in enumerate(runs):
            near = [x * f.spread(f.lane(inverse, i), self.lanes) for x in run]
            squares.append(reduce(lambda total, y: f.fma(y, y, total), near[1:], near[0] * near[0]))
        return scale_of(f, top, reduce(add, transposed(f, squares)), inverse)

    def _store(self, f: Writer, run: list[Value], factor: Value, target: Value) -> None:
        """Store a run of numbers as scaled integers."""
        for i, x in enumerate(run):
            f.store(f.converted(as_integers(f, x, factor), "i16"), f.at(target, i * self.lanes, "i16"))


@dataclass(frozen=True)
class ScalePanels(JobKernel):
    """A matrix b[k, n] as panels of scaled integers: for each tap and each run of its channels, a row of pairs of channels for each pair,
    then the columns' scales; filled up with zeros.

    Args:
        columns: of a panel; a multiple of `lanes`.
        lanes: float32 of a vector.
        source: element type: f32, bf16 or f16.
        by_rows: whether n runs fastest in the source; else k does.

    Tasks: with `by_rows` a run, all panels; else a panel.  Words: `names`; `depth`: channels of a tap; `line`: bytes from one k (or n) to
    the next.  Scratch: `scratch_bytes`.
    """

    columns: int
    lanes: int
    source: Storage
    by_rows: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the words of a job, in order."""
        return (*TENSORS, "depth", "taps", "columns", "line")

    @property
    def scratch_bytes(self) -> int:
        """Return the bytes of scratch memory that one thread needs: a run of all columns in float32."""
        return RUN * self.columns * 4

    def emit_job(self, f: Writer, words: Words) -> None:
        runs = runs_of(words["depth"])
        panels = (words["columns"] + (self.columns - 1)) // self.columns
        every = words["taps"] * runs
        with f.loop(f.begin, f.end) as task, f.loop(0, panels if self.by_rows else every) as i:
            run, panel = (task, i) if self.by_rows else (i, task)
            target = f.at(words.pointer("target"), (panel * every + run) * ((WORDS + 1) * self.columns), "u32")
            first = run % runs * RUN
            k, there = run // runs * words["depth"] + first, f.smaller(words["depth"] - first, RUN)
            start = panel * self.columns
            self._gather(f, words, (k, there), (start, f.smaller(words["columns"] - start, self.columns)))
            self._store(f, target)

    def _gather(self, f: Writer, words: Words, channels: tuple[Value, Value], columns: tuple[Value, Value]) -> None:
        """A run of a panel's columns into scratch memory.  channels, columns: the first, and how many there are."""
        (k, there), (n, count), line = channels, columns, words["line"]
        if self.by_rows:
            source = f.at(f.at(words.pointer("source"), k * line, "i8"), n, self.source)
            with f.loop(0, RUN) as r, f.loop(0, self.columns, self.lanes) as v:
                found = self._read(f, f.at(f.at(source, r * line, "i8"), v, self.source), f.select(r < there, count - v, 0))
                f.store(found.get(), f.at(f.scratch, r * self.columns + v, "f32"))
            return
        source = f.at(f.at(words.pointer("source"), n * line, "i8"), k, self.source)
        with f.loop(0, self.columns, self.lanes) as v, f.loop(0, RUN, self.lanes) as r:
            tile = f.at(f.at(source, v * line, "i8"), r, self.source)
            found = [self._read(f, f.at(tile, line * i, "i8"), f.select(count - v > i, there - r, 0)) for i in range(self.lanes)]
            for i, row in enumerate(transposed(f, [variable.get() for variable in found])):
                f.store(row, f.at(f.scratch, (r + i) * self.columns + v, "f32"))

    def _read(self, f: Writer, source: Value, count: Value) -> LocalVariable:
        """Return a vector of which so many elements exist; zeros stand for the others."""
        found = f.variable(f.constant(0.0, "f32", self.lanes))
        with f.choice(count >= self.lanes) as (whole, part):
            with whole:
                found.set(f.read(source, self.source, self.lanes))
            with part:
                found.set(f.read(source, self.source, self.lanes, f.mask(count, self.lanes)))
        return found

    def _store(self, f: Writer, target: Value) -> None:
        """The run in scratch memory as integers, and its scales."""
        with f.loop(0, self.columns, self.lanes) as v:

            def each(act: Callable[[Value], None], v: Value = v) -> None:
                with f.loop(0, RUN) as r:
                    act(f.load(f.at(f.scratch, r * self.columns + v, "f32"), "f32", self.lanes))

            top = f.variable(f.constant(0, "u32", self.lanes))
            each(lambda x: top.set(f.larger(top.get(), top_of(f, [x]))))
            inverse = inverse_of(f, top.get())
            total = f.variable(f.constant(0.0, "f32", self.lanes))
            each(lambda x: total.set(f.fma(x * inverse, x * inverse, total.get())))
            scale = scale_of(f, top.get(), total.get(), inverse)
            with f.loop(0, WORDS) as pair:
                rows = [f.load(f.at(f.scratch, (pair * 2 + i) * self.columns + v, "f32"), "f32", self.lanes) for i in range(2)]
                low, high = (f.bits(as_integers(f, row, scale.factor), "u32") for row in rows)
                f.store(low & 0xFFFF | (high << 16), f.at(target, pair * self.columns + v, "u32"))
            f.store(scale.step, f.at(target, WORDS * self.columns + v, "u32"))
